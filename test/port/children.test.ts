import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ChildProcesses, type ChildrenOptions } from "../../src/adapter/children/children.ts";
import { InlineChildren } from "../../src/adapter/inline/children.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { type Child, ChildError, ChildLost, type Children } from "../../src/port/children.ts";
import type { Asked } from "../support/children-process.ts";

const MiB = 1024 * 1024;
const entry = new URL("../support/children-process.ts", import.meta.url);

function processes(options: Partial<ChildrenOptions> = {}): ChildProcesses {
  return new ChildProcesses({
    entry,
    data: { name: "given" },
    dataBytesMax: 2048 * MiB,
    residentBytesMax: 1024 * MiB,
    ...options,
  });
}

const ask = (child: Child, kind: Asked["kind"], value?: unknown, deadlineMs?: number) =>
  child.request({ kind, value }, deadlineMs === undefined ? {} : { deadlineMs });

/** An idle child does not keep a process alive, so a test that waits for one has to. */
const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A process that nobody has waited for yet is still there, but does nothing any more.
  return !existsSync("/proc/self/stat") || !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

async function ended(pid: number): Promise<void> {
  while (await isAlive(pid)) await sleep(20);
}

const inline = () =>
  new InlineChildren((parent) => ({
    async handle(message: unknown) {
      const { kind, value } = message as Asked;
      if (kind === "throw") throw new EngineError("not_found", "there is none", { details: { name: value } });
      return kind === "ask" ? parent.request(value) : value;
    },
  }));

const adapters: readonly (readonly [string, () => Children])[] = [
  ["processes", processes],
  ["inline", inline],
];

for (const [name, create] of adapters) {
  describe(`children: ${name}`, () => {
    test("answers what crosses, arrays of numbers included", async () => {
      const children = create();
      const child = children.take();
      for (const length of [0, 1, 7, 1024, 300_000]) {
        const sent = { at: length, ids: Float64Array.from({ length }, (_, i) => i / 3), text: "ä".repeat(length) };
        const bytes = new Uint8Array(length + 3).fill(7).subarray(3);
        assert.deepEqual(await ask(child, "echo", { ...sent, bytes }), { ...sent, bytes });
      }
      const together = Array.from({ length: 50 }, (_, i) => ask(child, "echo", i));
      assert.deepEqual(
        await Promise.all(together),
        Array.from({ length: 50 }, (_, i) => i),
      );
      await children.close();
    });

    test("answers what the child asks, and tells what it throws", async () => {
      const children = create();
      const child = children.take(async (message) => ({ told: message }));
      assert.deepEqual(await ask(child, "ask", [1]), { told: [1] });
      await assert.rejects(ask(child, "throw", "x"), (error) => {
        assert.ok(error instanceof ChildError);
        assert.deepEqual([error.reason, error.message, error.details], ["not_found", "there is none", { name: "x" }]);
        return true;
      });
      await children.close();
    });

    test("a killed child fails what waits and what comes, and is told of once", async () => {
      const children = create();
      const child = children.take();
      let told = 0;
      child.onLost(() => told++);
      await ask(child, "echo", 1);
      const waiting = ask(child, "echo", 1);
      child.kill("late");
      const isLate = (error: unknown) => error instanceof ChildLost && error.why === "late";
      await assert.rejects(waiting, isLate);
      await assert.rejects(ask(child, "echo", 1), isLate);
      assert.equal(told, 1);
      assert.equal(children.stats.lost.late, 1);
      await children.close();
    });
  });
}

describe("children: what processes do to themselves", () => {
  const losses = [
    ["crash", "crashed"],
    ["exit", "crashed"],
    ["spin", "late"],
    ["grow", "memory"],
    ["heap", "memory"],
  ] as const;
  for (const [kind, why] of losses) {
    test(`${kind} is told as ${why}, and the next child works`, async () => {
      const children = processes({ residentBytesMax: 192 * MiB, nodeArgs: ["--max-old-space-size=64"] });
      const child = children.take();
      await assert.rejects(ask(child, kind, undefined, kind === "spin" ? 200 : 60_000), (error) => {
        assert.ok(error instanceof ChildLost);
        assert.equal(error.why, why);
        return true;
      });
      assert.equal(await ask(children.take(), "echo", "again"), "again");
      assert.equal(children.stats.lost[why], 1);
      await children.close();
    });
  }

  test("a limit of the system holds where nothing is watched", { skip: process.platform !== "linux" }, async () => {
    const children = processes({ dataBytesMax: 200 * MiB, residentBytesMax: Number.POSITIVE_INFINITY });
    const child = children.take();
    assert.equal(await ask(child, "echo", "works"), "works");
    await assert.rejects(ask(child, "grow", undefined, 60_000), (error) => {
      assert.ok(error instanceof ChildLost || error instanceof ChildError, String(error));
      return !(error instanceof ChildLost && error.why === "late");
    });
    await children.close();
  });

  test("a child that can't start fails what it is asked", async () => {
    const words: string[] = [];
    const children = processes({
      entry: new URL("./no-such-file.ts", import.meta.url),
      onLost: (_, text) => words.push(text),
    });
    await assert.rejects(ask(children.take(), "echo"), ChildLost);
    assert.match(words.join(), /no-such-file/);
    await children.close();
  });
});

describe("children: their lives", () => {
  test("the spare is taken, and another one is started", async () => {
    const children = processes();
    children.prepare();
    assert.deepEqual([children.stats.spare, children.stats.running], [1, 0]);
    const child = children.take();
    const pid = await ask(child, "pid");
    assert.equal(pid, child.pid);
    while (children.stats.spare === 0) await sleep(10);
    assert.deepEqual([children.stats.spare, children.stats.running], [1, 1]);
    assert.notEqual(await ask(children.take(), "pid"), pid);
    await children.close();
    await ended(pid as number);
    assert.equal(children.stats.running + children.stats.spare, 0);
  });

  test("a first spare that nobody takes is ended, and one beside others is kept", async () => {
    const children = processes({ spareIdleMs: 300 });
    children.prepare();
    while (children.stats.spare > 0) await sleep(10);
    assert.deepEqual([children.stats.started, children.stats.lost.closed], [1, 1]);
    const child = children.take();
    assert.equal(await ask(child, "pid"), child.pid);
    while (children.stats.spare === 0) await sleep(10);
    await sleep(600);
    assert.deepEqual([children.stats.spare, children.stats.running], [1, 1]);
    await children.close();
  });

  test("a child knows what it was given and no secret of the server", async () => {
    process.env["SERVICE_SECRET_OF_A_TEST"] = "x";
    const children = processes();
    const child = children.take();
    assert.deepEqual(await ask(child, "data"), { name: "given" });
    const names = (await ask(child, "environment")) as string[];
    delete process.env["SERVICE_SECRET_OF_A_TEST"];
    assert.deepEqual(
      names.filter((each) => /SERVICE|SECRET|TOKEN/.test(each)),
      [],
    );
    await children.close();
  });

  for (const kind of ["echo", "spin"] as const) {
    // Without setpriv a child that never comes back to its event loop ends with its loop.
    const skip = kind === "spin" && !existsSync("/usr/bin/setpriv");
    test(`a child that is busy with ${kind} ends with a parent that was killed`, { skip }, async () => {
      const parent = spawn(
        process.execPath,
        [new URL("../support/children-parent.ts", import.meta.url).pathname, kind],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      const [line] = (await once(parent.stdout!, "data")) as [Buffer];
      const pid = Number(line.toString());
      assert.ok(await isAlive(pid));
      parent.kill("SIGKILL");
      await ended(pid);
    });
  }
});
