import assert from "node:assert/strict";
import { test } from "node:test";
import { EditedQuery } from "../../../engine/sql/service/edits.ts";
import { splitStatements, stringOf, tokenize } from "./lexer.ts";
import { type PostgresSession, postgresEdits } from "./rewrite.ts";

const set: string[] = [];
const session: PostgresSession = {
  namespace: "shop",
  user: "o'me",
  process: 7,
  version: "15.0",
  namespaces: () => ["a", "b"],
  settings: () => [["x", "1"]],
  setting: (name) => (name === "search_path" ? "collections" : undefined),
  configure(name, value, isLocal) {
    set.push(`${name}=${value}${isLocal ? " local" : ""}`);
    return value;
  },
  prepared: () => [],
  searchPath: () => ["collections"],
  schemaOf: (table) => (table === "orders" ? "streams" : undefined),
};

function rewritten(text: string): string {
  const [statement] = splitStatements(text);
  return new EditedQuery(statement!.text, postgresEdits(statement!, session)).text;
}

for (const [text, want] of [
  ["select title from items where a = $1", "select title from items where a = $1"],
  ["select 'pg_catalog.version()', \"version\"", "select 'pg_catalog.version()', \"version\""],
  ["select current_user", "select 'o''me' AS current_user"],
  ["select f(current_user)", "select f('o''me')"],
  ["select x.current_user from x", "select x.current_user from x"],
  ["select pg_catalog.lower('X')", "select lower('X')"],
  [
    "select pg_catalog.pg_table_is_visible(c.oid)",
    "select postgres_catalog.pg_table_is_visible_in(['collections']::VARCHAR[], c.oid)",
  ],
  ["select a OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default", "select a ~ '(?s).*(?:^(x)$).*' "],
  ["select a !~* 'x'", "select a !~ '(?si).*(?:x).*'"],
  ["select a ~ b, ~1", "select a ~ ('(?s).*(?:' || b || ').*'), ~1"],
  ["select 1::pg_catalog.int4, 'a'::name", "select 1::int4, 'a'::text"],
  [
    "select 1 = 'pg_class'::regclass",
    "select 1 = postgres_catalog.regclass_oid(['collections']::VARCHAR[], 'pg_class')",
  ],
  [
    "select 'pg_class'::regclass",
    "select postgres_catalog.regclass_name(['collections']::VARCHAR[], postgres_catalog.regclass_oid(['collections']::VARCHAR[], 'pg_class'))",
  ],
  [
    "select c.oid::pg_catalog.regclass::pg_catalog.text",
    "select postgres_catalog.regclass_name(['collections']::VARCHAR[], c.oid)::text",
  ],
  ["select f(1, 2)::regtype", "select postgres_catalog.regtype_name(f(1, 2))"],
  ["select cast(c.oid as regclass)", "select postgres_catalog.regclass_name(['collections']::VARCHAR[], c.oid )"],
  ["select cast($1 as pg_catalog.regclass)", "select postgres_catalog.regclass_oid(['collections']::VARCHAR[], $1 )"],
  ["select '{1,2}'::int[]", "select '[1,2]'::int[]"],
  ["select '{1,2}'", "select '{1,2}'"],
  ["select pg_catalog.pg_class.oid from pg_catalog.pg_class", "select pg_class.oid from pg_catalog.pg_class"],
  [
    "select datname from pg_database",
    "select datname from postgres_catalog.session_databases(['a', 'b']::VARCHAR[]) AS pg_database",
  ],
  [
    "select 1 from pg_catalog.pg_database d",
    "select 1 from postgres_catalog.session_databases(['a', 'b']::VARCHAR[]) d",
  ],
  ["select current_setting('search_path')", "select 'collections' AS current_setting"],
  ["select current_setting('nope', true)", "select NULL::VARCHAR AS current_setting"],
  ["select * from generate_series(1, 3) g where g > 1", "select * from generate_series(1, 3) g(g) where g > 1"],
  ["select generate_series(1, 3) g", "select unnest(generate_series(1, 3)) g"],
  ["select generate_series(1, 3)", "select unnest(generate_series(1, 3)) AS generate_series"],
  [
    "select unnest(a) w, count(*) from t where b group by w",
    "select sets_0.value_1 w, count(*) from t , LATERAL (SELECT unnest(a) AS value_1) AS sets_0 where b group by w",
  ],
  [
    "select unnest(f(a::regclass)), generate_series(1, 2) g, count(*) group by 1, g",
    "select sets_0.value_1 AS unnest, sets_0.value_11 g, count(*) FROM (SELECT unnest(f(postgres_catalog.regclass_name(['collections']::VARCHAR[], a))) AS value_1, unnest(generate_series(1, 2)) AS value_11) AS sets_0 group by 1, g",
  ],
  ["select unnest(array_agg(a)), b from t group by b", "select unnest(array_agg(a)), b from t group by b"],
  [
    "select unnest(a), mode() within group (order by b) from t",
    "select unnest(a), mode() within group (order by b) from t",
  ],
  [
    "with w as (select count(1), rank() over (order by b) from t) select count from w",
    'with w as (select count(1) AS "count", rank() over (order by b) AS "rank" from t) select count from w',
  ],
  ["select 1 = any('{1,2}'), 'a' = any('{a,\"b,c\"}')", "select 1 = any([1, 2]), 'a' = any(['a', 'b,c'])"],
  ["select '{int}'::regtype[]", "select postgres_catalog.regtype_oids('[int]'::VARCHAR[])"],
  ["select $1::text::regtype::oid", "select postgres_catalog.regtype_oid($1::text)::uinteger"],
  ["select c.types::regtype[]", "select postgres_catalog.regtype_names(c.types)"],
  [
    "select pg_get_serial_sequence('items'::regclass::text, 'a')::regclass",
    "select postgres_catalog.regclass_name(['collections']::VARCHAR[], postgres_catalog.pg_get_serial_sequence(postgres_catalog.regclass_name(['collections']::VARCHAR[], postgres_catalog.regclass_oid(['collections']::VARCHAR[], 'items'))::text, 'a'))",
  ],
  [
    "select x::regclass::regclass",
    "select postgres_catalog.regclass_name(['collections']::VARCHAR[], postgres_catalog.regclass_name(['collections']::VARCHAR[], x))",
  ],
  [
    "select case when a then b end::regclass",
    "select postgres_catalog.regclass_name(['collections']::VARCHAR[], case when a then b end)",
  ],
  ["select 1::oid, $1::oid[], x::vector(3)", "select 1::uinteger, $1::uinteger[], x::float[]"],
  ["select 1 from t where typreceive != 0", "select 1 from t where typreceive != '-'"],
  [
    "select format('%s is %I%%', a, f(b, c))",
    "select concat('', postgres_catalog.text_of( a), ' is ', postgres_catalog.identifier_of( f(b, c)), '%')",
  ],
  ["select a similar to 'a%|b_.' escape '!'", "select a similar to 'a(?s:.*)|b(?s:.)\\.'"],
  ["select a #>> '{b,0}', a #> b.c", "select a ->> '/b/0', a -> postgres_catalog.json_pointer(b.c)"],
  ["select a.v <#> '[1]'", "select postgres_catalog.negative_inner_product(a.v , '[1]')"],
  ["select to_date(a, 'DD.MM.YYYY')", "select CAST(strptime(a, '%d.%m.%Y') AS DATE) AS to_date"],
  ["select overlay(a placing 'b' from 2 for 1)", "select postgres_catalog.overlay(a , 'b' , 2 , 1)"],
  ["select * from jsonb_array_elements(a) x", "select * from (SELECT unnest(json_extract(a, '$[*]')) AS value) x"],
  [
    "select * from string_to_array('a', ',')",
    "select * from (SELECT string_to_array('a', ',') AS string_to_array) AS string_to_array",
  ],
  [
    "select * from unnest(a, f(b, c)) with ordinality t(x, y, n)",
    "select * from (SELECT *, row_number() OVER () FROM (SELECT unnest(a), unnest( f(b, c)))) t(x, y, n)",
  ],
  ["select * from orders, items", "select * from streams.orders, items"],
  ["with orders as (select 1) select * from orders", "with orders as (select 1) select * from orders"],
  ["select age(datfrozenxid), age(now())", "select postgres_catalog.xid_age(datfrozenxid) AS age, age(now())"],
  ["select json_build_object('a', 1)", "select json_object('a', 1)"],
  ["select 1.50::numeric, cast('1e-3' as numeric)", "select 1.50::decimal(38,2), cast('1e-3' as decimal(38,3))"],
  ["select x::numeric, $1::numeric", "select postgres_catalog.numeric_of(x), $1::decimal(38,12)"],
  ["select numeric '1.5', x::numeric(9,2)", "select decimal(38,1) '1.5', x::numeric(9,2)"],
  ["select timestamp '0044-03-15 12:00 BC'", "select timestamp '0044-03-15 (BC) 12:00'"],
  ["values (1, 2) limit 1", 'SELECT * FROM (values (1, 2)) AS "*VALUES*"(column1, column2) limit 1'],
  ["select * from (values (1)) t(x)", "select * from (values (1)) t(x)"],
  ["select cast(x as varchar(2))", "select postgres_catalog.varchar_of(x , 2)"],
  [
    "select a.oid from a join b on a.oid = b.typinput",
    "select a.oid from a join b on a.oid = postgres_catalog.function_oid(b.typinput)",
  ],
] as const) {
  test(`${text} becomes DuckDB's`, () => assert.equal(rewritten(text), want));
}

for (const [text, message] of [
  ["select * from items for update", /FOR UPDATE is not supported/],
  ["select format(a, 1)", /written out/],
  ["select format('%5s', 1)", /%s, %I, %L and %% alone/],
  ["select format('%s')", /too few arguments/],
  ["select a similar to b", /written out/],
  ["select to_char(a, b)", /written out/],
] as const) {
  test(`${text} is refused`, () => assert.throws(() => rewritten(text), message));
}

test("the time of a rewrite grows with the statement", () => {
  for (const [before, part, after] of [
    ["select ", "(", "1"],
    ["select ", "f(", "1"],
    ["select x", "::regclass", ""],
    ["select x", "[1]::regtype", ""],
    ["select x", ".y", "::regclass"],
    ["select ", "current_user, ", "1"],
    ["select ", "case when ", "1"],
    ["select 1 from a", " join pg_class c on c.a ~ 'x'", ""],
    ["select ", "x <#> ", "y"],
    ["select ", "format('%s', ", "1"],
  ] as const) {
    const count = Math.floor(45_000 / (tokenize(part).length + 1));
    // Of a statement this long anything but a few passes would take minutes.
    try {
      rewritten(before + part.repeat(count) + after);
    } catch (error) {
      assert.match(String(error), /can't be followed|too long|format|levels deep/);
    }
  }
});

test("set_config sets, and gives what is set", () => {
  assert.equal(rewritten("select set_config('a.b', 'v', true)"), "select 'v' AS set_config");
  assert.deepEqual(set, ["a.b=v local"]);
});

test("statements are parted where they end, and nowhere else", () => {
  const text = "select ';' /* ; /* ; */ */; select $a$;$a$, \"a;b\", E'\\';' -- ;\n ; ;select 3";
  assert.deepEqual(
    splitStatements(text).map((each) => each.text),
    ["select ';' /* ; /* ; */ */", "select $a$;$a$, \"a;b\", E'\\';' -- ;\n ", "select 3"],
  );
  assert.deepEqual(splitStatements(" ; -- x"), []);
});

test("a text that does not end is taken as it is, however long", () => {
  for (const text of ["select 'abc", 'select "abc', "select $x$abc", "select /* abc"]) {
    const [statement] = splitStatements(text);
    assert.equal(statement?.text, text);
    assert.equal(statement?.tokens.at(-1)?.kind, "broken");
  }
  assert.equal(tokenize(`select '${"x''".repeat(500_000)}'`).length, 2);
});

test("strings are read with their escapes", () => {
  const values = tokenize("'a''b' E'a\\n\\x41\\\\' $t$a'b$t$ $$x$$").map(stringOf);
  assert.deepEqual(values, ["a'b", "a\nA\\", "a'b", "x"]);
});

test("quotations of megabytes are read, whatever they hold", () => {
  for (const [open, within, close] of [
    ["'", "''", "'"],
    ["E'", "\\'", "'"],
    ['"', '""', '"'],
  ] as const) {
    const text = open + within.repeat(2_000_000) + close;
    const [token, more] = tokenize(text);
    assert.equal(token?.end, text.length);
    assert.equal(more, undefined);
    assert.equal(tokenize(text.slice(0, -1))[0]?.kind, "broken");
  }
});

test("a query of too many words is refused", () => {
  assert.throws(() => tokenize("a ".repeat(50_001)), /query: has more than 50000 words/);
});

for (const [what, text] of [
  ["calls", `select * from ${"generate_series(".repeat(20_000)}`],
  ["lists", `select ${"[".repeat(20_000)}`],
] as const) {
  test(`${what} in one another without end are refused before they are looked at`, () => {
    assert.throws(() => rewritten(text), /query: has brackets more than 500 levels deep/);
  });
}

/** Each looked once through all that came before it; together they took minutes. */
test("as much as a query may hold is rewritten at once", () => {
  const times = 4_500;
  const many = (part: string) => `select ${Array.from({ length: times }, () => part).join(", ")}`;
  assert.equal(
    rewritten(`select 1::regclass${"::int::regclass".repeat(times)}`).match(/regclass_name/g)?.length,
    times + 1,
  );
  const series = Array.from({ length: times }, (_, i) => `generate_series(1, 2) s${i}`).join(", ");
  assert.equal(rewritten(`select * from ${series}`).match(/ s\d+\(s\d+\)/g)?.length, times);
  assert.equal(rewritten(many("f(current_user)")).match(/'o''me'/g)?.length, times);
  assert.equal(rewritten(many("cast(a as pg_catalog.xid)")).match(/as bigint/g)?.length, times);
});
