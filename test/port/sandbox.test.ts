import assert from "node:assert/strict";
import { test } from "node:test";
import { IsolatedSandboxes } from "../../src/adapter/isolated-vm/sandbox.ts";
import { QuickJsSandboxes } from "../../src/adapter/quickjs/sandbox.ts";
import { type Sandboxes, SandboxFault } from "../../src/port/sandbox.ts";

// Isolates can't be made from the snapshot that the runtime starts with.
const adapters: [string, () => Sandboxes][] = [
  ["isolated-vm", () => new IsolatedSandboxes()],
  ["quickjs", () => new QuickJsSandboxes()],
];
const limits = { heapBytes: 32 * 1024 * 1024, cpuMs: 2_000 };

function script(body: string): string {
  return `let out = ""; globalThis.step = (text) => { ${body} }; globalThis.output = () => out;`;
}

async function faultOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof SandboxFault, String(error));
    return error.kind;
  }
  return assert.fail("did not fail");
}

for (const [name, make] of adapters) {
  test(`${name}: a step's microtasks have run when its output is read`, async () => {
    const sandbox = await make().create(
      script("Promise.resolve().then(() => 1).then((n) => { out = text + n; });"),
      limits,
    );
    assert.equal((await sandbox.step("é", 1_000)).output, "é1");
    assert.equal((await sandbox.step("b", 1_000)).output, "b1");
    assert.equal((await sandbox.step("c", 1_000, 1_000)).output, "c1", "a brief one");
    sandbox.dispose();
  });

  test(`${name}: endless loops end, in a call, in microtasks and in the script itself`, async () => {
    const loop = await make().create(script("for (;;);"), limits);
    assert.equal(await faultOf(() => loop.step("", 100)), "time");
    const microtasks = await make().create(script("(async () => { for (;;) await null; })();"), limits);
    assert.equal(await faultOf(() => microtasks.step("", 100)), "time");
    assert.equal(await faultOf(() => make().create("for (;;);", { ...limits, cpuMs: 100 })), "time");
  });

  test(`${name}: a brief step that is not ends, in a call and in microtasks, and what it throws or allocates is told`, async () => {
    const briefly = async (body: string) => {
      const sandbox = await make().create(script(body), limits);
      return await faultOf(() => sandbox.step("", 200, 20));
    };
    const late = name === "isolated-vm" ? "slow" : "time";
    assert.equal(await briefly("for (;;);"), late);
    assert.equal(await briefly("(async () => { for (;;) await null; })();"), late);
    assert.equal(await briefly("throw new Error('x');"), "script");
    const heap = await make().create(
      script("const all = []; for (;;) all.push('x'.repeat(1e5) + all.length);"),
      limits,
    );
    assert.match(await faultOf(() => heap.step("", 2_000, 2_000)), /memory|time|slow/);
  });

  test(`${name}: what the script throws is told, and nothing of the machine is there`, async () => {
    assert.equal(await faultOf(() => make().create("throw new Error('x')", limits)), "script");
    const names = "[typeof process, typeof require, typeof setTimeout, typeof fetch].join()";
    const sandbox = await make().create(script(`out = ${names};`), limits);
    assert.equal((await sandbox.step("", 1_000)).output, "undefined,undefined,undefined,undefined");
    sandbox.dispose();
  });

  test(`${name}: two sandboxes share nothing`, async () => {
    const sandboxes = make();
    const [one, two] = await Promise.all(
      [1, 2].map(() => sandboxes.create(script("globalThis.n = (globalThis.n ?? 0) + 1; out = String(n);"), limits)),
    );
    await one!.step("", 1_000);
    const outputs = [await one!.step("", 1_000), await two!.step("", 1_000)].map(({ output }) => output);
    assert.deepEqual(outputs, ["2", "1"]);
    one!.dispose();
    two!.dispose();
  });
}
