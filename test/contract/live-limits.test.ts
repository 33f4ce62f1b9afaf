import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ConnectError } from "@connectrpc/connect";
import { type Arguments, LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

const source = `import { query, mutation, v } from "native-engine/live";
const any = { n: v.number() };
export const insert = mutation({ args: any, handler: async (ctx, { n }) => {
  for (let i = 0; i < n; i++) await ctx.db.insert("rows", { i });
} });
export const insertLong = mutation({ args: any, handler: async (ctx, { n }) => {
  for (let i = 0; i < n; i++) await ctx.db.insert("rows", { text: "x".repeat(500) });
} });
export const insertHuge = mutation({ args: any, handler: (ctx, { n }) => ctx.db.insert("rows", { text: "x".repeat(n) }) });
export const scan = query({ args: any, handler: async (ctx, { n }) => (await ctx.db.query("rows").take(n)).length });
export const long = query({ args: any, handler: async (ctx, { n }) => (await ctx.db.query("long").take(n)).length });
export const ranges = query({ args: any, handler: async (ctx, { n }) => {
  for (let i = 0; i < n; i++) await ctx.db.query("rows").first();
} });
export const caught = mutation({ args: any, handler: async (ctx, { n }) => {
  try { for (let i = 0; i < n; i++) await ctx.db.insert("rows", { i }); } catch {}
} });
`;

let server: ServerProcess;
let live: LiveNamespaceClient;

before(async () => {
  server = await ServerProcess.start({
    env: {
      SERVICE_LIVE_READ_BYTES_MAX: "8000",
      SERVICE_LIVE_WRITTEN_BYTES_MAX: "4000",
      SERVICE_LIVE_DOCUMENTS_READ_MAX: "30",
      SERVICE_LIVE_DOCUMENTS_WRITTEN_MAX: "10",
      SERVICE_LIVE_RANGES_MAX: "5",
      SERVICE_LIVE_DOCUMENT_BYTES_MAX: "1000",
      SERVICE_LIVE_INDEXES_MAX: "2",
      SERVICE_LIVE_INDEX_FIELDS_MAX: "2",
      SERVICE_LIVE_SESSIONS_MAX: "2",
      SERVICE_LIVE_SESSION_QUERIES_MAX: "3",
    },
  });
  live = await LiveNamespaceClient.create(server, "n");
  await live.client.deploy({
    namespace: "n",
    modules: [{ path: "f", source }],
    schema: { tables: { rows: {}, long: {} } },
  });
  for (let i = 0; i < 10; i++) {
    await live.mutate("_tables:insert", { table: "long", document: { text: "x".repeat(900) } });
  }
});
after(() => server[Symbol.asyncDispose]());

/** What a call gives: `ok`, the kind of what was thrown, or the reason of a refusal. */
async function outcome(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "ok",
    (thrown: unknown) => {
      if (!(thrown instanceof ConnectError)) return (thrown as Error).message.split(":", 1)[0]!;
      return infoOf(thrown).reason;
    },
  );
}

test("a run is ended by each of its limits, at its bound and not before", async () => {
  const rows: [run: "query" | "mutate", name: string, n: number, wanted: string][] = [
    ["mutate", "insert", 10, "ok"],
    ["mutate", "insert", 11, "limit"],
    ["mutate", "insertLong", 7, "ok"],
    ["mutate", "insertLong", 8, "limit"],
    ["mutate", "insertHuge", 980, "ok"],
    ["mutate", "insertHuge", 1_000, "thrown"],
    ["mutate", "caught", 11, "limit"],
    ["query", "long", 8, "ok"],
    ["query", "long", 9, "limit"],
    ["query", "ranges", 5, "ok"],
    ["query", "ranges", 6, "limit"],
  ];
  for (const [run, name, n, wanted] of rows) {
    assert.equal(await outcome(live[run](`f:${name}`, { n })), wanted, `${name} ${n}`);
  }
  // 10 and 7 and 1 are there: what passed a limit has left nothing.
  assert.equal(await live.query("_tables:count", { table: "rows" }), 18);
  await live.mutate("f:insert", { n: 10 });
  await live.mutate("f:insert", { n: 10 });
  assert.equal(await outcome(live.query("f:scan", { n: 20 })), "ok");
  assert.equal(await outcome(live.query("f:scan", { n: 38 })), "limit");
});

test("tables, sessions and their queries are bounded", async () => {
  const index = (i: number, fields = 1) => ({
    name: `i${i}`,
    fields: Array.from({ length: fields }, (_, field) => `f${field}`),
  });
  const create = (args: Arguments) => outcome(live.mutate("_tables:create", { table: "bounded", ...args }));
  assert.equal(await create({ indexes: [index(1), index(2), index(3)] }), "invalid_argument");
  assert.equal(await create({ indexes: [index(1, 3)] }), "invalid_argument");
  assert.equal(await create({ indexes: [index(1, 2), index(2)] }), "ok");
  const insert = (text: string) => outcome(live.mutate("_tables:insert", { table: "rows", document: { text } }));
  assert.deepEqual([await insert("x".repeat(980)), await insert("x".repeat(1_000))], ["ok", "invalid_argument"]);
  const list = ["_tables:list", {}] as const;
  const first = async (count: number) => {
    const watch = live.watch(...Array.from({ length: count }, () => list));
    return { watch, opened: await outcome(watch.next()) };
  };
  const [one, two] = [await first(3), await first(1)];
  const three = await first(1);
  assert.deepEqual([one.opened, two.opened, three.opened], ["ok", "ok", "resource_exhausted"]);
  await two.watch[Symbol.asyncDispose]();
  const tooMany = await first(4);
  assert.equal(tooMany.opened, "resource_exhausted");
  for (const { watch } of [one, three, tooMany]) await watch[Symbol.asyncDispose]();
});
