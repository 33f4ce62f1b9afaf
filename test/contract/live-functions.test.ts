import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ConnectError } from "@connectrpc/connect";
import { transform } from "esbuild";
import { ask } from "../support/http.ts";
import { type Json, LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

const head = `import { query, mutation, v, defineSchema, defineTable, LiveError } from "native-engine/live";\n`;
const schema = `${head}export default defineSchema({
  messages: defineTable({ room: v.string(), text: v.string(), n: v.optional(v.number()) }).index("by_room", ["room", "n"]),
  counters: defineTable({ name: v.string(), value: v.number() }).index("by_name", ["name"]),
});`;
const messages = `${head}
import { shout } from "./lib/text.js";
let calls = 0;
export const list = query({ args: { room: v.string() }, handler: async (ctx, { room }) =>
  (await ctx.db.query("messages").withIndex("by_room", (r) => r.eq("room", room)).collect()).map((each) => each.text) });
export const since = query({ args: { room: v.string(), n: v.number() }, handler: async (ctx, { room, n }) =>
  (await ctx.db.query("messages").withIndex("by_room", (r) => r.eq("room", room).gt("n", n)).order("desc").take(2)).map((each) => each.n) });
export const pages = query({ args: {}, handler: async (ctx) => {
  const seen = [];
  for (let cursor = null, done = false; !done; ) {
    const page = await ctx.db.query("messages").filter((each) => each.n % 2 === 0).paginate({ cursor, limit: 3 });
    seen.push(page.page.map((each) => each.n));
    ({ cursor, isDone: done } = page);
  }
  return seen;
} });
export const send = mutation({ args: { room: v.string(), text: v.string(), n: v.optional(v.number()) }, handler: async (ctx, args) => {
  console.log("sending", args.text);
  const id = await ctx.db.insert("messages", { ...args, text: shout(args.text) });
  return (await ctx.db.get(id))._id === id ? id : null;
} });
export const once = query({ args: {}, handler: () => [++calls, Math.random() < 1, typeof Date.now()] });
export const who = query({ args: {}, handler: async (ctx) => (await ctx.auth.principal()).id });
export const fail = mutation({ args: {}, handler: async (ctx) => {
  await ctx.db.insert("messages", { room: "x", text: "never" });
  throw new LiveError("no such luck", { code: 7n });
} });
export const bad = mutation({ args: {}, handler: async (ctx) => {
  try { await ctx.db.insert("messages", { room: 1 }); } catch (error) { return error.message; }
} });
export const write = query({ args: {}, handler: async (ctx) => { await ctx.db.insert("messages", {}); } });
export const own = mutation({ args: {}, handler: async (ctx) => {
  const id = await ctx.db.insert("messages", { room: "own", text: "a", n: 1 });
  await ctx.db.patch(id, { n: 5 });
  const after = await ctx.db.query("messages").withIndex("by_room", (r) => r.eq("room", "own")).collect();
  await ctx.db.patch(id, { n: undefined });
  const none = (await ctx.db.get(id)).n === undefined;
  await ctx.db.delete(id);
  return [after.length, after[0].n, none, await ctx.db.get(id), await ctx.db.query("messages").count()];
} });
export const values = query({ args: { big: v.int64(), bytes: v.bytes() }, returns: v.object({ big: v.int64(), bytes: v.bytes() }), handler: (_, { big, bytes }) =>
  ({ big: big + 1n, bytes: bytes.map((each) => each + 1) }) });
`;
const counters = `${head}
export const add = mutation({ args: { name: v.string() }, handler: async (ctx, { name }) => {
  const found = await ctx.db.query("counters").withIndex("by_name", (r) => r.eq("name", name)).unique();
  if (found === null) await ctx.db.insert("counters", { name, value: 1 });
  else await ctx.db.patch(found._id, { value: found.value + 1 });
} });
export const get = query({ args: { name: v.string() }, handler: async (ctx, { name }) =>
  (await ctx.db.query("counters").withIndex("by_name", (r) => r.eq("name", name)).unique())?.value ?? 0 });
`;
const text = "export function shout(text) { return text.toUpperCase(); }\n";
const modules = [
  { path: "schema.js", source: schema },
  { path: "messages", source: messages },
  { path: "counters.js", source: counters },
  { path: "lib/text.js", source: text },
];

let server: ServerProcess;
let next = 0;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_LIVE_RUN_TIME: "500ms" } });
});
after(() => server[Symbol.asyncDispose]());

async function namespace(): Promise<LiveNamespaceClient> {
  return await LiveNamespaceClient.create(server, `fn${next++}`);
}

async function deployed(): Promise<LiveNamespaceClient> {
  const live = await namespace();
  await live.client.deploy({ namespace: live.namespace, modules });
  return live;
}

async function refusal(call: Promise<unknown>) {
  const thrown = await call.then(
    () => assert.fail("was not refused"),
    (error: unknown) => error,
  );
  const error = ConnectError.from(thrown);
  const { reason, metadata } = infoOf(error);
  return [reason, metadata["field"], error.rawMessage] as const;
}

test("a deployment tells its functions and changes, and runs", async () => {
  const live = await namespace();
  const dry = await live.client.deploy({ namespace: live.namespace, modules, dryRun: true });
  assert.deepEqual([Number(dry.version), await live.query("_tables:list")], [0, []]);
  const done = await live.client.deploy({ namespace: live.namespace, modules });
  assert.equal(Number(done.version), 1);
  assert.deepEqual(done.changes, dry.changes);
  assert.ok(done.changes.includes("create table messages") && done.changes.includes("add mutation messages:send"));
  const send = done.functions.find(({ name }) => name === "messages:send")!;
  assert.deepEqual([send.kind, Object.keys(send.args!)], ["mutation", ["room", "text", "n"]]);
  const sent = await live.mutateAt("messages:send", { room: "a", text: "hi" });
  assert.deepEqual(sent.logs, ["sending hi"]);
  assert.equal(typeof sent.value, "string");
  const louder = modules.map((each) =>
    each.source === text ? { ...each, source: text.replace("Upper", "Lower") } : each,
  );
  const changesOf = async (given: typeof modules) =>
    (await live.client.deploy({ namespace: live.namespace, modules: given, dryRun: true })).changes;
  assert.deepEqual([await changesOf(modules), await changesOf(louder)], [[], ["change code"]]);
  assert.deepEqual(await live.query("messages:list", { room: "a" }), ["HI"]);
  assert.deepEqual(await live.query("messages.js:list", { room: "b" }), []);
});

test("functions read ranges, pages and their own writes, and keep nothing between runs", async () => {
  const live = await deployed();
  for (let n = 1; n <= 8; n++) await live.mutate("messages:send", { room: "a", text: "t", n });
  assert.deepEqual(await live.query("messages:since", { room: "a", n: 3 }), [8, 7]);
  assert.deepEqual(await live.query("messages:pages"), [[2], [4, 6], [8]]);
  assert.deepEqual(await live.mutate("messages:own"), [1, 5, true, null, 8]);
  const once = await live.query("messages:once");
  assert.deepEqual(
    [once, await live.query("messages:once")],
    [
      [1, true, "number"],
      [1, true, "number"],
    ],
  );
  assert.equal(await live.query("messages:who"), "dev-loopback");
  const given = { big: { $int64: "41" }, bytes: { $bytes: "AQI=" } };
  assert.deepEqual(await live.query("messages:values", given), { big: { $int64: "42" }, bytes: { $bytes: "AgM=" } });
});

test("what a function throws is an outcome and commits nothing", async () => {
  const live = await deployed();
  const call = { function: "messages:fail", args: {} };
  const { outcome } = await live.client.mutate({ namespace: live.namespace, call });
  assert.ok(outcome.case === "error");
  assert.deepEqual([outcome.value.kind, outcome.value.message], ["thrown", "no such luck"]);
  assert.deepEqual(await live.query("messages:list", { room: "x" }), []);
  assert.match((await live.mutate("messages:bad")) as string, /room: must be a string/);
  await assert.rejects(live.query("messages:write"), /insert is not a function/);
  const wrong: [Promise<unknown>, string, string | undefined][] = [
    [live.query("messages:list", {}), "invalid_argument", "args.room"],
    [live.query("messages:list", { room: "a", more: 1 }), "invalid_argument", "args.more"],
    [live.query("messages:nothing", {}), "not_found", undefined],
    [live.mutate("messages:list", { room: "a" }), "invalid_argument", "call.function"],
  ];
  for (const [each, reason, field] of wrong) assert.deepEqual((await refusal(each)).slice(0, 2), [reason, field]);
});

test("mutations that conflict all happen, one after another", async () => {
  const live = await deployed();
  const clients = Array.from({ length: 10 }, () =>
    Array.from({ length: 5 }, () => live.mutate("counters:add", { name: "c" })),
  );
  await Promise.all(clients.flat());
  assert.equal(await live.query("counters:get", { name: "c" }), 50);
});

test("a watched function follows its data and its deployment", async () => {
  const live = await deployed();
  await using watch = live.watch(
    ["messages:list", { room: "a" }],
    ["counters:get", { name: "c" }],
    ["messages:who", {}],
  );
  await watch.until((shown) => shown.size === 3);
  await live.mutate("messages:send", { room: "b", text: "other" });
  await live.mutate("messages:send", { room: "a", text: "hi" });
  await watch.until((shown) => (shown.get(1) as Json[]).length === 1);
  assert.deepEqual(
    [1, 2, 3].map((id) => watch.shown.get(id)),
    [["HI"], 0, "dev-loopback"],
  );
  const louder = modules.map((each) =>
    each.path === "lib/text.js" ? { ...each, source: text.replace("toUpper", "toLower") } : each,
  );
  const changed = louder.map((each) => (each.path === "counters.js" ? { ...each, source: head } : each));
  await live.client.deploy({ namespace: live.namespace, modules: changed, expectedVersion: 1n });
  while (!watch.failed.has(2)) await watch.next();
  assert.match(watch.failed.get(2)!, /does not exist/);
  await live.mutate("messages:send", { room: "a", text: "Hi" });
  await watch.until((shown) => (shown.get(1) as Json[]).length === 2);
  assert.deepEqual(watch.shown.get(1), ["HI", "hi"]);
});

test("a deployment that does not fit is refused and changes nothing", async () => {
  const live = await deployed();
  const { namespace: ns, client } = live;
  await live.mutate("messages:send", { room: "a", text: "hi" });
  const deploy = (more: object) => client.deploy({ namespace: ns, modules, ...more });
  const tables = (fields: object) => ({ schema: { tables: { messages: { fields } } } });
  const stale = await refusal(deploy({ expectedVersion: 9n }));
  assert.equal(stale[0], "aborted");
  const strict = { schema: { tables: { messages: { fields: { room: { type: "number" } } }, counters: {} } } };
  const [reason, , message] = await refusal(deploy(strict));
  assert.equal(reason, "failed_precondition");
  assert.match(message, /messages does not fit/);
  assert.equal((await refusal(deploy({ schema: { tables: { counters: {} } } })))[0], "failed_precondition");
  assert.equal((await refusal(deploy(tables({ x: { type: "nothing" } }))))[1], "schema.tables.messages.fields.x.type");
  const broken = await refusal(client.deploy({ namespace: ns, modules: [{ path: "a", source: "export const = 1" }] }));
  assert.deepEqual(broken.slice(0, 2), ["invalid_argument", "modules[0].source"]);
  const outside = [{ path: "a", source: 'import fs from "node:fs"; export const x = fs;' }];
  assert.deepEqual((await refusal(client.deploy({ namespace: ns, modules: outside }))).slice(0, 2), [
    "invalid_argument",
    "modules[0].source",
  ]);
  const throws = await refusal(
    client.deploy({ namespace: ns, modules: [{ path: "a", source: "throw new Error('at the top')" }] }),
  );
  assert.match(throws[2], /at the top/);
  assert.equal(
    (await refusal(client.deploy({ namespace: ns, modules: [{ path: "../a", source: "" }] })))[1],
    "modules[0].path",
  );
  assert.deepEqual(await live.query("messages:list", { room: "a" }), ["HI"]);
  const dropped = await deploy({ schema: { tables: { counters: {} } }, allowDrops: true });
  assert.ok(dropped.changes.includes("drop table messages"));
});

test("a namespace is deleted once its live tables and functions are gone", async () => {
  const live = await deployed();
  const url = `${server.url}/v1/namespaces/${live.namespace}`;
  assert.equal((await ask(url, { method: "DELETE" })).status, 409);
  await live.client.deploy({ namespace: live.namespace, schema: { tables: {} }, allowDrops: true });
  assert.equal((await ask(url, { method: "DELETE" })).status, 200);
  const again = await LiveNamespaceClient.create(server, live.namespace);
  assert.deepEqual(await again.query("_tables:list"), []);
});

test("an index that comes later knows the documents before it", async () => {
  const live = await namespace();
  await live.mutate("_tables:create", { table: "things" });
  for (const n of [3, 1, 2]) await live.mutate("_tables:insert", { table: "things", document: { n } });
  const source = `${head}export const sorted = query({ args: {}, handler: async (ctx) =>
    (await ctx.db.query("things").withIndex("by_n").collect()).map((each) => each.n) });`;
  const indexes = [{ name: "by_n", fields: ["n"] }];
  await live.client.deploy({
    namespace: live.namespace,
    modules: [{ path: "q", source }],
    schema: { tables: { things: { indexes } } },
  });
  assert.deepEqual(await live.query("q:sorted"), [1, 2, 3]);
  await live.mutate("_tables:insert", { table: "things", document: { n: 0 } });
  assert.deepEqual(await live.query("q:sorted"), [0, 1, 2, 3]);
});

test("an error tells its place in the sources, also in those that a module was made of", async () => {
  const live = await namespace();
  const typed = [
    'import { query } from "native-engine/live";',
    "function fail(why: string): never {",
    "  throw new Error(why);",
    "}",
    "export const f = query({ args: {}, handler: () => fail(`mapped`) });",
  ].join("\n");
  const { code, map } = await transform(typed, { loader: "ts", sourcemap: true, sourcefile: "typed.ts", minify: true });
  const plain = `${head}export const f = query({ args: {}, handler: () => {\n  null.x; } });`;
  const modules = [
    { path: "typed", source: code, sourceMap: map },
    { path: "plain", source: plain },
  ];
  await live.client.deploy({ namespace: live.namespace, modules });
  const logsOf = async (name: string) => {
    const { logs } = await live.client.query({ namespace: live.namespace, call: { function: name } });
    return logs.join("\n").replace(/^ +at \S* ?\(/gm, "(");
  };
  assert.match(await logsOf("typed:f"), /^Error: mapped\n\([^)]*typed\.ts:3:9\)\n\([^)]*typed\.ts:5:\d+\)$/);
  assert.match(await logsOf("plain:f"), /^TypeError: .*\n\(plain:3:8\)$/);
});

test("REST tells what there is and what ran, and runs functions, for the console", async () => {
  const live = await deployed();
  const url = `${server.url}/v1/namespaces/${live.namespace}/live`;
  const send = { function: "messages:send", args: { room: "a", text: "hi" } };
  const sent = await ask(`${url}/mutate`, { body: send });
  assert.equal(sent.status, 200, sent.text);
  assert.deepEqual(sent.json.logs, ["sending hi"]);
  const listed = await ask(`${url}/query`, { body: { function: "messages:list", args: { room: "a" } } });
  assert.deepEqual(listed.json.value, ["HI"]);
  const failed = await ask(`${url}/mutate`, { body: { function: "messages:fail" } });
  assert.deepEqual(failed.json.error, { kind: "thrown", message: "no such luck", data: { code: { $int64: "7" } } });
  const { json: overview } = await ask(url);
  assert.deepEqual([overview.version, overview.tick, overview.sessions], [1, Number(sent.json.tick), 0]);
  assert.deepEqual(overview.tables.map(({ table }: { table: string }) => table).sort(), ["counters", "messages"]);
  assert.ok(overview.functions.some(({ name }: { name: string }) => name === "messages:send"));
  const { runs } = (await ask(`${url}/runs`)).json;
  assert.deepEqual(
    runs.map((run: { function: string; error?: string }) => [run.function, run.error]),
    [
      ["messages:fail", "no such luck"],
      ["messages:list", undefined],
      ["messages:send", undefined],
    ],
  );
  assert.equal((await ask(`${url}/query`, { body: { function: "no:such" } })).status, 404);
  assert.equal((await ask(`${url}/query`, { body: { function: "messages:list", args: {} } })).json.field, "args.room");
});
