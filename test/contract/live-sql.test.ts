import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { type Json, LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { sqlWires } from "../support/sql-wires.ts";

let server: ServerProcess;
let live: LiveNamespaceClient;
let first: string;

const fields = {
  title: { type: "string" },
  n: { type: "number", optional: true },
  done: { type: "boolean", optional: true },
  big: { type: "int64", optional: true },
  raw: { type: "bytes", optional: true },
  state: {
    type: "union",
    of: [{ type: "literal", value: "open" }, { type: "literal", value: "shut" }, { type: "null" }],
    optional: true,
  },
  tags: { type: "array", items: { type: "string" }, optional: true },
} as const;

before(async () => {
  server = await ServerProcess.start();
  live = await LiveNamespaceClient.create(server, "n");
  const indexes = [{ name: "by_title", fields: ["title"] }];
  await live.mutate("_tables:create", { table: "tasks", fields: fields as unknown as Json, indexes });
  await live.mutate("_tables:create", { table: "loose" });
  const insert = (table: string, document: Json) => live.mutate("_tables:insert", { table, document });
  const full = { title: "one", n: 1.5, done: true, big: { $int64: "9007199254740993" }, raw: { $bytes: "AP9B" } };
  first = (await insert("tasks", { ...full, state: "open", tags: ["x", "y"] })) as string;
  await insert("tasks", { title: "two", n: 2, state: null });
  await insert("loose", { any: { deep: [1, "a"] } });
});
after(() => server[Symbol.asyncDispose]());

async function sql(query: string, params: unknown[] = []) {
  return await ask(`${server.url}/v1/namespaces/n/sql`, { body: { query, params } });
}

for (const [name, connect] of Object.entries(sqlWires)) {
  test(`${name}: live tables are read, joined, counted and listed, each as of now, and not written`, async () => {
    await using wire = await connect(server, "n");
    const rows = await wire.run("SELECT title, n, state FROM live.tasks WHERE n < 3 ORDER BY title");
    assert.deepEqual(rows.slice(0, 2), [
      ["one", "1.5", "open"],
      ["two", "2", null],
    ]);
    assert.deepEqual(await wire.run("SELECT count(*) FROM live.tasks a JOIN live.tasks b ON a._id = b._id"), [
      [String((await live.query("_tables:count", { table: "tasks" })) as number)],
    ]);
    const [listed] = await wire.run(
      "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE '%tasks' OR table_name LIKE '%loose'",
    );
    assert.deepEqual(listed, ["2"]);
    await live.mutate("_tables:insert", { table: "tasks", document: { title: `${name} sees it`, n: 9 } });
    assert.deepEqual(await wire.run(`SELECT title FROM live.tasks WHERE title LIKE '${name} %'`), [
      [`${name} sees it`],
    ]);
    await assert.rejects(wire.run("INSERT INTO live.tasks (title) VALUES ('no')"));
    await assert.rejects(wire.run("SELECT * FROM live.nothing"));
  });
}

test("columns have the types of the fields, and documents without a schema are JSON", async () => {
  const all = await sql("SELECT * FROM live.tasks WHERE _id = ?", [first]);
  assert.equal(all.status, 200, all.text);
  assert.deepEqual(
    all.json.columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
    [
      "_id VARCHAR",
      "_creationTime DOUBLE",
      "title VARCHAR",
      "n DOUBLE",
      "done BOOLEAN",
      "big BIGINT",
      "raw BLOB",
      "state VARCHAR",
      "tags JSON",
      "_source JSON",
    ],
  );
  const [{ _creationTime, _source, raw, ...row }] = all.json.rows;
  assert.equal(typeof _creationTime, "number");
  assert.deepEqual(_source.big, { $int64: "9007199254740993" });
  assert.match(JSON.stringify(raw), /AP9B|xFF/);
  const big = "9007199254740993";
  assert.deepEqual(row, { _id: first, title: "one", n: 1.5, done: true, big, state: "open", tags: ["x", "y"] });
  const loose = await sql("SELECT _source->>'$.any.deep[1]' AS deep FROM live.Loose LIMIT 1");
  assert.deepEqual(loose.json.rows, [{ deep: "a" }]);
  const both = await sql("SELECT (SELECT count(*) FROM live.tasks) AS n, title FROM live.tasks LIMIT 1");
  assert.ok(both.json.rows.length === 1 && both.json.rows[0].n > 1, "a limit is that of its own reference");
});

test("a read waits for its token and tells the tick, and a deployment changes columns", async () => {
  const done = await sql("SELECT 1 FROM live.loose");
  const { tick } = await live.mutateAt("_tables:insert", { table: "loose", document: {} });
  assert.equal(done.json.token[0].offset, tick - 1);
  const future = JSON.stringify([{ ...done.json.token[0], offset: tick + 1 }]);
  const waiting = ask(`${server.url}/v1/namespaces/n/sql`, {
    body: { query: "SELECT count(*) AS n FROM live.loose" },
    headers: { "service-consistency-token": future },
  });
  await live.mutate("_tables:insert", { table: "loose", document: {} });
  assert.deepEqual((await waiting).json.rows, [{ n: 3 }]);
  const schema = { tables: { loose: { fields: { a: { type: "string", optional: true } } } } };
  const tables = { ...schema.tables, tasks: { fields } };
  const refused = live.client.deploy({ namespace: "n", modules: [], schema: { tables } as never });
  await assert.rejects(refused, /does not fit/);
  const wider = { any: { type: "any", optional: true }, a: { type: "string", optional: true } };
  await live.client.deploy({
    namespace: "n",
    modules: [],
    schema: { tables: { loose: { fields: wider }, tasks: { fields } } } as never,
  });
  await live.mutate("_tables:insert", { table: "loose", document: { a: "here" } });
  const shown = await sql("SELECT a FROM live.loose WHERE a IS NOT NULL");
  assert.deepEqual(shown.json.rows, [{ a: "here" }]);
  const described = await sql("SELECT column_name FROM information_schema.columns WHERE table_name = 'loose'");
  assert.ok(described.json.rows.some((row: { column_name: string }) => row.column_name === "a"));
});
