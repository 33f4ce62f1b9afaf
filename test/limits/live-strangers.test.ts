/** Functions that are odd, careless or hostile: what they may leave behind, what they lose, and whom they hold up. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let live: LiveNamespaceClient;
let other: LiveNamespaceClient;
let deployed = 0;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_LIVE_RUN_TIME: "500ms" } });
  live = await LiveNamespaceClient.create(server, "strange");
  other = await LiveNamespaceClient.create(server, "other");
  await live.mutate("_tables:create", { table: "t" });
  const source = `import { query } from "native-engine/live";\nexport const one = query({ handler: () => 1 });`;
  await other.client.deploy({ namespace: "other", modules: [{ path: "m", source }] });
});
after(() => server[Symbol.asyncDispose]());

/** Deploys one function, and gives what calls it. */
async function made(kind: "query" | "mutation", handler: string): Promise<() => Promise<unknown>> {
  const path = `m${deployed++}`;
  const source = `import { ${kind} } from "native-engine/live";\nexport const f = ${kind}({ handler: ${handler} });`;
  await live.client.deploy({ namespace: live.namespace, modules: [{ path, source }] });
  return () => (kind === "query" ? live.query(`${path}:f`) : live.mutate(`${path}:f`));
}

const count = () => live.query("_tables:count", { table: "t" });

for (const what of [
  "ctx.db.get",
  "ctx.auth.principal",
  "globalThis.step",
  "globalThis.output",
  "Object.getPrototypeOf([].values().map((each) => each))",
  "Object.getPrototypeOf(Iterator.from({ next() {} }))",
]) {
  test(`a run leaves nothing for the next one in ${what}`, async () => {
    const run = await made("query", `(ctx) => { ${what}.left = 1; }`);
    await assert.rejects(run(), /^Error: thrown: Cannot add property left, object is not extensible$/);
  });
}

test("a read that fails may be awaited later", async () => {
  const run = await made(
    "query",
    `async ({ db }) => { const bad = db.get("bad"); await db.query("t").count(); await db.query("t").count();
      try { await bad; } catch (error) { return error.message; } }`,
  );
  assert.equal(await run(), "id: must be the id of a document");
});

test("writes that nobody awaits are made, and fail the mutation where they can't be", async () => {
  const before = Number(await count());
  const run = await made(
    "mutation",
    `async ({ db }) => { db.insert("t", {}); await db.query("t").count(); db.insert("t", {}); return "ok"; }`,
  );
  assert.equal(await run(), "ok");
  assert.equal(await count(), before + 2);
  for (const body of [
    `db.insert("none", {}); return 1;`,
    `db.insert("none", {}); await db.query("t").count(); return 1;`,
  ]) {
    const failing = await made("mutation", `async ({ db }) => { db.insert("t", {}); ${body} }`);
    await assert.rejects(failing(), /^Error: thrown: table "none" does not exist$/);
  }
  assert.equal(await count(), before + 2, "nothing of a mutation that failed");
});

test("numbers that are none are refused, in results and in documents", async () => {
  for (const number of ["NaN", "Infinity", "-Infinity"]) {
    const message = new RegExp(`^Error: thrown: ${number} is no value: a number must be finite$`);
    const result = await made("query", `() => ({ a: [${number}] })`);
    await assert.rejects(result(), message);
    const document = await made("mutation", `({ db }) => db.insert("t", { a: ${number} })`);
    await assert.rejects(document(), message);
  }
});

test("values are told by their fields, whatever they say of themselves", async () => {
  const hidden = `Object.defineProperty({ a: 1 }, "toJSON", { value() {} })`;
  assert.deepEqual(await (await made("query", `() => [${hidden}]`))(), [{ a: 1 }]);
  const species = `class A extends Array { static get [Symbol.species]() { return Object; } }`;
  const run = await made("query", `() => { ${species} return A.from([1n, 2n]); }`);
  assert.deepEqual(await run(), [{ $int64: "1" }, { $int64: "2" }]);
  const range = await made(
    "query",
    `({ db }) => db.query("t").withIndex("x", () => ({ range: { toJSON() {} } })).count()`,
  );
  await assert.rejects(range(), /^Error: thrown: there is no such operation$/);
});

for (const [what, thrown, message] of [
  [
    "a message that is a symbol",
    `Object.assign(new Error("x"), { message: Symbol("m") })`,
    /^Error: thrown: Symbol\(m\)$/,
  ],
  [
    "a message that throws",
    `Object.defineProperty(new Error(), "message", { get() { throw 1; } })`,
    /^Error: thrown: $/,
  ],
  ["a message of a million characters", `new Error("x".repeat(1e6))`, /^Error: thrown: x{10000}$/],
] as const) {
  test(`an error with ${what} is told as an error`, async () => {
    const run = await made("query", `() => { throw ${thrown}; }`);
    await assert.rejects(run(), message);
  });
}

test("a cursor that is none is refused", async () => {
  const run = await made("query", `({ db }) => db.query("t").paginate({ cursor: "zzz", limit: 1 })`);
  await assert.rejects(run(), /^Error: thrown: cursor: is of another query$/);
});

test("a rejection that nobody handles ends the run with its message alone", async () => {
  const run = await made("query", `() => { Promise.reject(new Error("floating")); return 1; }`);
  await assert.rejects(run(), /^Error: thrown: floating$/);
});

test("a result that is too large undoes the mutation", async () => {
  const before = await count();
  const run = await made("mutation", `async ({ db }) => { await db.insert("t", {}); return "x".repeat(17 << 20); }`);
  await assert.rejects(run(), /^Error: limit: gave back too much$/);
  assert.equal(await count(), before);
});

for (const [what, loop] of [
  ["computing", "for (;;);"],
  ["asking who calls", "for (;;) await ctx.auth.principal();"],
  ["asking for what is not there", `for (;;) await ctx.db.get("x").catch(() => 0);`],
] as const) {
  test(`an endless loop of ${what} ends`, async () => {
    const run = await made("query", `async (ctx) => { ${loop} }`);
    await assert.rejects(run(), /^Error: limit: took too much processor time$/);
  });
}

test("a loop that nothing can interrupt holds nobody up until it ends", async () => {
  const run = await made("query", "() => { for (let x = 3n; ; x *= x); }");
  const ended: string[] = [];
  const note = (name: string) => () => ended.push(name);
  const refused = () =>
    assert.rejects(
      run(),
      /^Error: (?:limit: took too much (?:processor time|memory)|thrown: Maximum BigInt size exceeded)$/,
    );
  // The first ones show that it is slow.
  await Promise.all([refused(), refused()]);
  const bad = Promise.all([refused(), refused(), refused()]).then(note("loops"));
  await other.query("m:one").then(note("another"));
  await bad;
  assert.deepEqual(ended, ["another", "loops"]);
});

test("a mutation over its limit ends while others change what it has read, and loses none of their writes", async () => {
  const id = String(await live.mutate("_tables:insert", { table: "t", document: { n: 0 } }));
  const run = await made("mutation", `async ({ db }) => { await db.get(${JSON.stringify(id)}); for (;;); }`);
  let isOver = false;
  let written = 0;
  const writing = (async () => {
    while (!isOver) await live.mutate("_tables:patch", { id, patch: { n: ++written } });
  })();
  await assert.rejects(run(), /^Error: limit: took too much processor time$/);
  isOver = true;
  await writing;
  assert.deepEqual(((await live.query("_tables:get", { id })) as { n: number }).n, written);
});
