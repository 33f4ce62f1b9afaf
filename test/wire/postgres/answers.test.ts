import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { ServerProcess } from "../../support/process.ts";
import { makeShop } from "./shop.ts";

let server: ServerProcess;
let client: pg.Client;

before(async () => {
  server = await ServerProcess.start();
  await makeShop(server.url);
  client = new pg.Client({ ...server.postgres, user: "test", database: "shop" });
  await client.connect();
});
after(async () => {
  await client.end();
  await server[Symbol.asyncDispose]();
});

/** Values as they come, in text or as bytes. */
const asIs = { getTypeParser: () => (value: unknown) => value };

/** What psql shows without alignment: the names of the columns, then the rows. */
async function shown(text: string): Promise<string[]> {
  const { fields, rows } = await client.query({ text, rowMode: "array", types: asIs });
  return [fields.map(({ name }) => name), ...rows].map((cells) => cells.map((cell) => cell ?? "").join("|"));
}

/** Statements whose columns and rows are those that PostgreSQL 15 gives. */
for (const [query, ...want] of [
  [
    "select 1.23456789::numeric, '12.50'::numeric + 1, 3::numeric, numeric '1e-5', 1234567890123456789::numeric",
    "numeric|?column?|numeric|numeric|numeric",
    "1.23456789|13.50|3|0.00001|1234567890123456789",
  ],
  [
    "select cast('123456789012345678901234567890.123' as numeric), 123456789.123::float8::numeric, '{1.5,2.25}'::numeric[]",
    "numeric|numeric|numeric",
    "123456789012345678901234567890.123|123456789.123|{1.5,2.25}",
  ],
  [
    "select x::numeric, x::numeric::text from (values ('1.5'), ('2.123456')) t(x)",
    "x|x",
    "1.5|1.5",
    "2.123456|2.123456",
  ],
  [
    "select sum(x::numeric), round(max(x::numeric), 2) from (values ('1.5'), ('2.123456')) t(x)",
    "sum|round",
    "3.623456|2.12",
  ],
  [
    "select '0044-03-15 BC'::date, date '0044-03-15 BC' + 1, '0044-03-15 12:00:00 BC'::timestamp, '0044-03-15 12:00:00+00 BC'::timestamptz",
    "date|?column?|timestamp|timestamptz",
    "0044-03-15 BC|0044-03-16 BC|0044-03-15 12:00:00 BC|0044-03-15 12:00:00+00 BC",
  ],
  [
    "select '0044-03-15 BC'::date::text, '0001-01-01'::date - '0001-12-31 BC'::date",
    "text|?column?",
    "0044-03-15 BC|1",
  ],
  [
    "select extract(year from '0044-03-15 BC'::date), date_part('year', date '0001-01-01 BC'), extract(year from date '2024-01-01')",
    "extract|date_part|extract",
    "-44|-1|2024",
  ],
  [
    "select extract(century from '0044-03-15 BC'::date), extract(decade from '0044-03-15 BC'::date), extract(year from interval '-2 years')",
    "extract|extract|extract",
    "-1|-5|-2",
  ],
  [
    "select to_char('0044-03-15 BC'::date, 'YYYY-MM-DD BC'), to_char(date '2024-03-15', 'Y,YYY YYY YY Y CC b.c. AD')",
    "to_char|to_char",
    "0044-03-15 BC|2,024 024 24 4 21 a.d. AD",
  ],
  [
    "select to_char(interval '1 year 2 mons 3 days 14:05:06.789', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(interval '14:05:06', 'HH12:MI AM')",
    "to_char|to_char",
    "0001-02-03 14:05:06.789|02:05 PM",
  ],
  [
    "select to_char(interval '30 hours 5 min', 'HH24:MI:SS'), to_char(interval '-2 hours', 'HH24:MI'), to_char(interval '1 hour', 'FMHH24:FMMI')",
    "to_char|to_char|to_char",
    "30:05:00|-02:00|1:0",
  ],
  [
    "select to_char(date '2024-03-01', 'DDth FMDDTH'), to_char(date '2024-03-11', 'DDth'), to_char(date '2024-03-22', 'DDth')",
    "to_char|to_char|to_char",
    "01st 1ST|11th|22nd",
  ],
  ["values (1, 'a'), (2, 'b') order by 1 desc", "column1|column2", "2|b", "1|a"],
  ["select column2 from (values (1, 2)) v union all values (3)", "column2", "2", "3"],
  [
    "select format('%s', 1), substring('abc' from 1), substring('abc' from 'b'), trim(' a '), position('b' in 'abc')",
    "format|substring|substring|btrim|position",
    "1|abc|b|a|2",
  ],
  [
    "select 'int4'::regtype::oid, 'x'::varchar, 1::int8, '{1}'::int[], 1::double precision, cast(1 as bigint), null::int",
    "oid|varchar|int8|int4|float8|int8|int4",
    "23|x|1|{1}|1|1|",
  ],
  [
    "select true, null, -1, 'a' || 'b', not true, 1 is null",
    "?column?|?column?|?column?|?column?|?column?|?column?",
    "t||-1|ab|f|f",
  ],
  [
    "select case when true then 1 end, case when true then 1 else x end, x::text, (x)::int, x + 1, coalesce(x, 1) from (values (3)) t(x)",
    "case|x|x|x|?column?|coalesce",
    "1|1|3|3|4|3",
  ],
  [
    "select (select 1 as a), (select max(1)), exists(select 1), array[1, 2], array(select 1)",
    "a|max|exists|array|array",
    "1|1|t|{1,2}|{1}",
  ],
  [
    "select date '2024-01-01', timestamp with time zone '2024-01-01', '2024-01-01'::timestamp at time zone 'utc'",
    "date|timestamptz|timezone",
    "2024-01-01|2024-01-01 00:00:00+00|2024-01-01 00:00:00+00",
  ],
  [
    "select count(*) filter (where true), count(*)::int, upper('a') as \"Up\", lower('A') lo",
    "count|count|Up|lo",
    "1|1|A|a",
  ],
  [
    "select array[1, 2]::text, '{1,2}'::int[]::text, array['a', 'b c', null, '', 'null', 'q\"']::text, array[true, false]::text",
    "array|text|array|array",
    '{1,2}|{1,2}|{a,"b c",NULL,"","null","q\\""}|{t,f}',
  ],
  ["select array_agg(x)::text from (values (1), (2)) t(x)", "array_agg", "{1,2}"],
  [
    "select 'abc'::varchar(2), 'abc'::char, cast('abcdef' as varchar(3)), 'abc'::character varying(2), 'ab'::char(3)",
    "varchar|bpchar|varchar|varchar|bpchar",
    "ab|a|abc|ab|ab ",
  ],
  [
    'select \'{"a":1,"b":2}\'::jsonb = \'{"b":2, "a":1}\'::jsonb, \'{"bb":1,"a":[1, 2,{"z":null}]}\'::jsonb, \'{"b":1,  "a":2}\'::json',
    "?column?|jsonb|json",
    't|{"a": [1, 2, {"z": null}], "bb": 1}|{"b":1,  "a":2}',
  ],
  [
    "select generate_series(timestamp '2024-01-01', timestamp '2024-01-03', '1 day')",
    "generate_series",
    "2024-01-01 00:00:00",
    "2024-01-02 00:00:00",
    "2024-01-03 00:00:00",
  ],
  [
    "select t.typname, ti.proname from pg_type as t join pg_proc as ti on ti.oid = t.typinput where t.oid in (16, 1007, 1184) order by 1",
    "typname|proname",
    "_int4|array_in",
    "bool|boolin",
    "timestamptz|timestamptz_in",
  ],
  [
    "select typinput::oid, (select prorettype::regtype from pg_proc where oid = typsend) as sent from pg_type where typname = 'bool'",
    "typinput|sent",
    "1242|bytea",
  ],
  ["select null as x, 'a' is null where null is null", "x|?column?", "|f"],
  [
    "select to_regclass('pg_class'), to_regclass('nope'), to_regtype('int4'), to_regtype('int4')::oid",
    "to_regclass|to_regclass|to_regtype|to_regtype",
    "pg_class||integer|23",
  ],
] as const) {
  test(`${query} is shown as Postgres shows it`, async () => {
    assert.deepEqual(await shown(query), want);
  });
}

/** Statements about what is here, in the same form. */
for (const [query, ...want] of [
  [
    "select to_regclass('items'), to_regclass('streams.orders')::text",
    "to_regclass|to_regclass",
    "items|streams.orders",
  ],
  ["select to_regclass('orders') is null", "?column?", "t"],
  ["select relname from pg_class where oid = to_regclass('items')", "relname", "items"],
  ["select vector_dims(v), vector_norm(v) from items where _id = 2", "vector_dims|vector_norm", "3|1"],
  ["select extname from pg_extension", "extname", "vector"],
  ["select '{{1,2},{3,4}}'::int[]", "int4", "[[1,2],[3,4]]"],
] as const) {
  test(`${query} is answered`, async () => {
    assert.deepEqual(await shown(query), want);
  });
}

for (const [query, code, message] of [
  ["select 'orders'::regclass", "42P01", /relation "orders" does not exist/],
  ["select format('%I', null)", "22P02", /null values cannot be formatted as an SQL identifier/],
  ["select '[1,2]'::vector(3)", "22P02", /expected 3 dimensions, not 2/],
  ["prepare b as copy items to stdout", "42601", /COPY can't be prepared/],
] as const) {
  test(`${query} is refused`, async () => {
    await assert.rejects(client.query(query), { code, message });
  });
}

test("names are told as the search path has them", async () => {
  await client.query("set search_path = streams");
  assert.deepEqual(await shown("select 'orders'::regclass, to_regclass('items')"), ["regclass|to_regclass", "orders|"]);
  assert.deepEqual(await shown("select 'collections.items'::regclass"), ["regclass", "collections.items"]);
  await client.query("reset search_path");
});

test("values of EXECUTE are of the types that PREPARE gave", async () => {
  await client.query("prepare e (bigint[]) as select _id from items where _id = any($1) order by 1");
  assert.deepEqual(await shown("execute e('{1,2}')"), ["_id", "1", "2"]);
  const listed = "select name, parameter_types, from_sql from pg_prepared_statements";
  assert.deepEqual(await shown(listed), ["name|parameter_types|from_sql", "e|{bigint[]}|t"]);
  await client.query("deallocate e");
  assert.deepEqual(await shown("select count(*) from pg_prepared_statements"), ["count", "0"]);
});

for (const [query, ...columns] of [
  ["select title, _id from items", "items.title", "items._id"],
  [
    'select i."v" as vector, upper(i.title), i._source from collections.items as i where _id = 1',
    "items.v",
    undefined,
    "items._source",
  ],
  [
    "select *, 1 as one from items order by _id limit 1",
    "items._id",
    "items.title",
    "items.color",
    "items.v",
    "items._source",
    undefined,
  ],
  ["select key, value from streams.orders", "orders.key", "orders.value"],
  ["select i.title from items i, items j", undefined],
  ["select title from (select title from items) t", undefined],
  ["select title from items union select 'x'", undefined],
] as const) {
  test(`${query} tells the columns of the table`, async () => {
    const { fields } = await client.query(query);
    const { rows } = await client.query(
      "select attrelid::bigint as t, attnum as n, relname || '.' || attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace <> 11",
    );
    const found = fields.map(
      ({ tableID, columnID }) => rows.find(({ t, n }) => Number(t) === tableID && n === columnID)?.name,
    );
    assert.deepEqual(found, columns);
  });
}

test("a column that is NULL and nothing else is text", async () => {
  for (const query of ["select null", "select null as x, _id from items"]) {
    assert.equal((await client.query(query)).fields[0]?.dataTypeID, 25, query);
  }
});

test("dates before the year 1 are taken as parameters", async () => {
  const given = await client.query({
    text: "select $1::date::text, $2::timestamptz::text",
    rowMode: "array",
    values: ["0044-03-15 BC", "0044-03-15 12:00:00+00 BC"],
  });
  assert.deepEqual(given.rows, [["0044-03-15 BC", "0044-03-15 12:00:00+00 BC"]]);
});

test("a byte order mark in a text is a part of it", async () => {
  const text = "\ufeffx";
  const { rows } = await client.query("SELECT $1::text AS x, length($1::text) AS n, $2::text[] AS list", [
    text,
    [text],
  ]);
  assert.deepEqual(rows, [{ x: text, n: "2", list: [text] }]);
});
