import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { ServerProcess } from "../../support/process.ts";
import { makeShop } from "./shop.ts";

let server: ServerProcess;
let sql: postgres.Sql;

before(async () => {
  server = await ServerProcess.start();
  await makeShop(server.url);
  sql = postgres({ ...server.postgres, user: "test", database: "shop", max: 1 });
});
after(async () => {
  await sql.end();
  await server[Symbol.asyncDispose]();
});

async function copied(statement: string): Promise<Buffer> {
  return buffer(await sql.unsafe(statement).readable());
}

for (const [statement, want] of [
  ["copy items (_id, color) to stdout", "1\tred\n2\tblue\n3\tred\n"],
  ["COPY collections.items (color) TO STDOUT (FORMAT text)", "red\nblue\nred\n"],
  ["copy (select 1 as a, 'x' as b) to stdout csv header", "a,b\n1,x\n"],
  ["copy (select 'a\tb\\c' || chr(10), null, '', 'x|y') to stdout", "a\\tb\\\\c\\n\t\\N\t\tx|y\n"],
  ["copy (select 'x|y', '\\N') to stdout (delimiter '|')", "x\\|y|\\\\N\n"],
  ["copy (select '', null, 'a,b', 'q\"q', chr(13), 'ü') to stdout (format csv)", '"",,"a,b","q""q","\r",ü\n'],
  ["copy (select '\\.') to stdout csv", '"\\."\n'],
  ["copy (select 'a''b', 1) to stdout csv quote '''' escape '\\' force quote *", "'a\\'b','1'\n"],
  ["copy (select 'x' as a, 'y' as b) to stdout (format csv, force_quote (b), null 'x')", '"x","y"\n'],
  ["copy (select i from range(3) t(i)) to stdout with (header, format csv, delimiter ';')", "i\n0\n1\n2\n"],
  ["copy (select 1 where false) to stdout", ""],
  ["copy (select 1, 'a') to stdout", "1\ta\n"],
  ["copy (select [1, null]::int[], true, interval '1 day') to stdout", "{1,NULL}\tt\t1 day\n"],
] as const) {
  test(statement, async () => {
    assert.equal((await copied(statement)).toString(), want);
  });
}

test("binary has its header, a row of lengths and values, and its end", async () => {
  const bytes = await copied("copy (select 7::int, null, 'ä') to stdout (format binary)");
  const row = "0003 00000004 00000007 ffffffff 00000002 c3a4".replaceAll(" ", "");
  assert.equal(
    bytes.toString("hex"),
    `${Buffer.from("PGCOPY\n\xff\r\n\0", "latin1").toString("hex")}${"00".repeat(8)}${row}ffff`,
  );
});

test("a large copy comes whole", async () => {
  const bytes = await copied("copy (select i, repeat('x', 100) from range(100000) t(i)) to stdout");
  const lines = bytes.toString().split("\n");
  assert.equal(lines.length, 100_001);
  assert.equal(lines.at(-2), `99999\t${"x".repeat(100)}`);
});

for (const [statement, code] of [
  ["copy items from stdin", "25006"],
  ["copy items to '/x'", "42501"],
  ["copy items to program 'x'", "42501"],
  ["copy nope to stdout", "42P01"],
  ["copy items to stdout (format xml)", "22023"],
  ["copy items to stdout (quote 'x')", "0A000"],
  ["copy items to stdout (format binary, header)", "42601"],
  ["copy items to stdout (what 1)", "42601"],
  ["copy (delete from items) to stdout", "25006"],
  ["copy items to stdout (delimiter 'ab')", "22023"],
] as const) {
  test(`${statement} is refused with ${code}`, async () => {
    await assert.rejects(sql.unsafe(statement), { code });
    assert.deepEqual([...(await sql`select 1 as x`)], [{ x: 1 }]);
  });
}
