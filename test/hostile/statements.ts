import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { aggregateFunctions, scalarFunctions } from "../../src/engine/sql/service/plan/allowed-functions.ts";
import { refusedFunctions } from "../../src/engine/sql/service/plan/refused-functions.ts";

/** Statements that were found to end, hold up or fill a server, each in a form that its limits let through at first. */
export const knownStatements: readonly string[] = [
  "select json_structure(repeat('[',400000)||repeat(']',400000))",
  "select json_contains(repeat('[',400000)||repeat(']',400000), '1')",
  "select json_merge_patch(repeat('[',400000)||repeat(']',400000), '1')",
  "select (repeat('[',400000)||repeat(']',400000))::json::variant",
  "select json_deserialize_sql(repeat('[',400000)||repeat(']',400000))",
  "select * from text_search(docs,(select sum(a.range*b.range)::varchar from range(100000) a, range(100000) b, range(100000) c), title, 1)",
  "select len(range(50000000))",
  "select length(repeat('x', 900000000)||repeat('y', 900000000))",
  `select * from ${"generate_series(".repeat(20_000)}`,
  `select ${"f(".repeat(20_000)}`,
  `select ${"a.b.c,".repeat(20_000)}1`,
  `select ${"abs(1),".repeat(20_000)}1`,
  `select ${"(".repeat(30_000)}1${")".repeat(30_000)}`,
  `select ${"'x' ".repeat(50_000)}`,
  `select ${"not ".repeat(50_000)}true`,
  `select ${"1+".repeat(60_000)}1`,
  `select 1 in (${"1,".repeat(90_000)}1)`,
  `select ${"case when true then ".repeat(5_000)}1${" end".repeat(5_000)}`,
  "with recursive r as (select 1 as x union all select x + 1 from r) select count(*) from r",
  "with recursive r as (select repeat('x', 1000) as x union all select x || x from r) select max(length(x)) from r",
  "select list_transform(range(1000000), lambda x: list_transform(range(1000), lambda y: x * y))",
  "select regexp_matches(repeat('a', 100000), '(a*)*(b*)*(c*)*$')",
  "select count(*) from range(1000000) a, range(1000000) b",
  "select string_agg(repeat('x', 100000), '') from range(100000)",
  "select 99999999999999999999999999999999999999::decimal(38,0) * 99999999999999999999999999999999999999::decimal(38,0)",
  "select interval '2147483647 years' * 2147483647",
  "select * from pg_read_file('/etc/passwd')",
  "select getenv('SERVICE_API_KEYS')",
  "select * from other.collections.secrets",
  "copy (select 1) to '/tmp/x'",
  "select 1 \0 from docs",
];

const deepText = "repeat('[',400000)||repeat(']',400000)";
const longFilter = "'['||repeat('{},',5000000)||'{}]'";
const longRows = [
  "select ('['||repeat('[],',10000000+range)||'[]]')::json a from range(1)",
  "select repeat('x', 200000000+range) a from range(1)",
  "select repeat('x', 60000+range) a from range(1500)",
  // Inside of others: what is short as a list of items may be long as a text.
  "select {'a': ('['||repeat('1.5,',4000000+range)||'1]')::json} a from range(1)",
  `select list_transform(range(20000), lambda x: {${Array.from({ length: 20 }, (_, i) => `'b${i}': x % 2 = 0`).join()}}) a`,
  `select list_transform(range(400), lambda x: {'${"n".repeat(100_000)}': x}) a`,
  `select from_json('{}', '{${Array.from({ length: 9_000 }, (_, i) => `"a${i}":"TINYINT"`).join()}}') a`,
  `select from_json('{}', '{${Array.from({ length: 60_000 }, (_, i) => `"a${i}":"TINYINT"`).join()}}') a`,
];
const grown = `REPLACE(REPLACE('${"x".repeat(5_000)}','x','${"y".repeat(100_000)}'),'z','w')`;

/** The same for what one wire alone has to withstand. */
export const knownByWire: Readonly<Record<"rest" | "postgres" | "mysql", readonly string[]>> = {
  rest: [
    ...longRows,
    `select ${"1 a,".repeat(18_000)}1 a`,
    `select _id from vector_search(docs, [1,0], v, 1, filter => ${longFilter})`,
  ],
  postgres: [
    ...longRows,
    `select _id from vector_search(docs, '[1,0]', v, 1, filter => ${longFilter})`,
    `select postgres_catalog.json_structure() from (select ${deepText} as postgres_catalog) t`,
    "select 'memory_limit' as postgres_catalog, postgres_catalog.current_setting()",
  ],
  mysql: [
    ...longRows,
    `select '${"\\0041".repeat(400_000)}'`,
    `select mysql_functions.json_structure() from (select ${deepText} as mysql_functions) t`,
    "select 'secret_directory' as mysql_functions, mysql_functions.current_setting()",
    `set @a = concat(${Array(12).fill(grown).join()})`,
    `set @a = '${"y".repeat(9_900)}'`,
    `select ${Array(20_000).fill("@a").join()}`,
  ],
};

const values: readonly string[] = [
  "null",
  "0",
  "-1",
  "9223372036854775807",
  "-9223372036854775808",
  "170141183460469231731687303715884105727",
  "1e308",
  "'nan'::double",
  "'-infinity'::double",
  "99999999999999999999999999999999999999::decimal(38,0)",
  "''",
  "'a'",
  "repeat('a', 100000)",
  "repeat('[', 100000) || repeat(']', 100000)",
  "repeat('{\"a\":', 50000) || '1' || repeat('}', 50000)",
  "'(((((((((((((((((((('",
  "'%s%n%d' || repeat('%', 1000)",
  "'\u0000\uffff\ud83d'::varchar",
  "'x'::blob",
  "date '294247-01-10'",
  "date '-290308-12-22'",
  "timestamp 'infinity'",
  "timestamptz '2024-01-01 00:00:00+00'",
  "time '23:59:59.999999'",
  "interval '2147483647 months'",
  "interval '-9223372036854775 seconds'",
  "[]",
  "[1, null, 3]",
  "range(100000)",
  "range(1000000000)",
  "[[[[[[[[1]]]]]]]]",
  "{'a': {'b': {'c': 1}}}",
  "map {'a': 1}",
  "true",
  "'[1,2'::json",
  '\'{"a":[1,{"b":2}]}\'::json',
  "uuid()",
  "1000000000",
  "2147483647",
  "lambda x: x",
  "title",
  "_id",
  "docs",
  "'year'",
  "'%Y-%m-%d'",
  "'99999999999999999999'",
];

/** Statements made of the database's own functions and of values at their ends; the same for the same seed. */
export class StatementMaker {
  readonly #random: SeededRandom;
  readonly #functions: readonly string[];

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const words = [...scalarFunctions, ...aggregateFunctions].filter((name) => /^[a-z_]/.test(name));
    this.#functions = [...words, ...Object.values(refusedFunctions).flatMap((names) => names.split(" "))];
  }

  next(): string {
    switch (this.#below(8)) {
      case 0:
        return `select ${this.#call(3)} from docs`;
      case 1:
        return `select ${this.#call(2)} over (order by ${this.#value()}) from docs`;
      case 2:
        return `select * from docs where ${this.#call(2)} = ${this.#call(1)} group by all`;
      case 3:
        return `select ${Array.from({ length: 1 + this.#below(200) }, () => this.#call(1)).join(", ")}`;
      case 4:
        return `with recursive r as (select ${this.#value()} as x union all select ${this.#pick(this.#functions)}(x) from r limit 1000) select * from r`;
      case 5:
        return `select list_transform(range(${this.#pick(["10", "100000", "10000000"])}), lambda x: ${this.#pick(this.#functions)}(x, ${this.#value()}))`;
      case 6:
        return `select ${this.#value()}::${this.#pick(["json", "varchar[]", "decimal(38,37)", "interval", "bit", "uuid", "struct(a int)", "map(int, int)", "timestamptz"])}`;
      default:
        return `select ${this.#call(4)}`;
    }
  }

  #call(depth: number): string {
    const args = Array.from({ length: this.#below(4) }, () =>
      depth > 1 && this.#below(3) === 0 ? this.#call(depth - 1) : this.#value(),
    );
    return `${this.#pick(this.#functions)}(${args.join(", ")})`;
  }

  #value(): string {
    return this.#pick(values);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #below(end: number): number {
    return Math.floor(this.#random.next() * end);
  }
}
