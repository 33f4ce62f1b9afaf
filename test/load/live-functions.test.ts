import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Arguments, type Json, LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";

const head = `import { query, mutation, v, defineSchema, defineTable, LiveError } from "native-engine/live";\n`;

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_LIVE_RUN_TIME: "500ms" } });
});
after(() => server[Symbol.asyncDispose]());

const hostile: Readonly<Record<string, [source: string, wanted: RegExp | Json]>> = {
  loop: ["() => { for (;;); }", /limit/],
  microtasks: ["async () => { for (;;) await null; }", /limit/],
  heap: ["() => { const kept = []; for (;;) kept.push(new Array(1000).fill({})); }", /limit|unavailable/],
  hugeArray: ["() => new Array(2 ** 32 - 2).fill(0).length", /limit|unavailable|thrown/],
  bigint: ["() => { let n = 3n; for (;;) n = n * n; }", /limit|unavailable|thrown/],
  split: ['() => "x".repeat(2 ** 28).split("").length', /limit|unavailable|thrown/],
  never: ["() => new Promise(() => {})", /never comes/],
  prototype: ["() => { Object.prototype.x = 1; }", /thrown/],
  intrinsic: ["() => { Array.prototype.map = () => 1; }", /thrown/],
  global: ["() => { globalThis.kept = 1; }", /thrown/],
  reach: [
    "() => [typeof process, typeof require, typeof setTimeout, typeof WebAssembly, typeof fetch, typeof eval, typeof SharedArrayBuffer, typeof Atomics]",
    Array.from({ length: 8 }, () => "undefined"),
  ],
  code: ['() => (() => {}).constructor("return 1")()', /code can't be made/],
  symbol: ["() => Symbol('x')", /thrown/],
  cycle: ["() => { const a = {}; a.a = a; return a; }", /thrown|limit/],
  otherTable: ['(ctx) => ctx.db.get("0".repeat(32))', null],
};

test("hostile functions end themselves and nothing else", async () => {
  const live = await LiveNamespaceClient.create(server, "hostile");
  const functions = Object.entries(hostile).map(
    ([name, [source]]) => `export const ${name} = query({ args: {}, handler: ${source} });`,
  );
  const good = "export const good = query({ args: {}, handler: async (ctx) => await ctx.db.query('t').count() });";
  const source = [head, ...functions, good].join("\n");
  await live.client.deploy({
    namespace: live.namespace,
    modules: [{ path: "h", source }],
    schema: { tables: { t: {} } },
  });
  for (const [name, [, wanted]] of Object.entries(hostile)) {
    const args: Arguments = {};
    const [outcome, beside] = await Promise.all([
      live.query(`h:${name}`, args).catch((error: unknown) => (error as Error).message),
      live.query("h:good"),
    ]);
    if (wanted instanceof RegExp) assert.match(String(outcome), wanted, name);
    else assert.deepEqual(outcome, wanted, name);
    assert.equal(beside, 0, name);
  }
});
