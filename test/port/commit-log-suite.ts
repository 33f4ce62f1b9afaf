import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import type { CommitLog } from "../../src/port/commit-log.ts";

export interface OpenedLog extends AsyncDisposable {
  readonly log: CommitLog;
  /** Closes it and opens it again; undefined where nothing outlives the process. */
  readonly reopen?: () => Promise<CommitLog>;
}

async function entries(log: CommitLog, from = log.start): Promise<[number, string][]> {
  const found: [number, string][] = [];
  for await (const { position, bytes } of log.read(from)) found.push([position, Buffer.from(bytes).toString()]);
  return found;
}

/** What every adapter of the port keeps; `open` gives an empty log. */
export function commitLogSuite(name: string, open: () => Promise<OpenedLog>, numRuns = 100): void {
  describe(`commit log: ${name}`, () => {
    test("an empty log starts and ends at 1", async () => {
      await using opened = await open();
      const { log } = opened;
      assert.deepEqual([log.start, log.end, await entries(log)], [1, 1, []]);
    });

    test("entries get consecutive positions and are read from any of them", async () => {
      await using opened = await open();
      const { log } = opened;
      for (const [text, position] of [
        ["a", 1],
        ["", 2],
        ["c".repeat(3 * pageBytes), 3],
        ["d", 4],
      ] as const) {
        assert.equal(await log.append(Buffer.from(text)), position);
      }
      assert.equal(log.end, 5);
      assert.deepEqual(await entries(log, 2), [
        [2, ""],
        [3, "c".repeat(3 * pageBytes)],
        [4, "d"],
      ]);
      assert.deepEqual(await entries(log, 5), []);
    });

    test("appends that are made at once keep their order", async () => {
      await using opened = await open();
      const { log } = opened;
      const texts = Array.from({ length: 30 }, (_, i) => `entry ${i}`);
      const positions = await Promise.all(texts.map((text) => log.append(Buffer.from(text))));
      assert.deepEqual(
        positions,
        texts.map((_, i) => i + 1),
      );
      assert.deepEqual(
        await entries(log),
        texts.map((text, i) => [i + 1, text]),
      );
    });

    test("an entry that is larger than a segment is an entry like any other", async () => {
      await using opened = await open();
      const { log, reopen } = opened;
      const large = "x".repeat(9 * pageBytes);
      await log.append(Buffer.from("a"));
      await log.append(Buffer.from(large));
      await log.append(Buffer.from("b"));
      const expected = [
        [1, "a"],
        [2, large],
        [3, "b"],
      ];
      assert.deepEqual(await entries(log), expected);
      if (reopen !== undefined) assert.deepEqual(await entries(await reopen()), expected);
    });

    test("what is trimmed may go, what is not stays, and positions go on", async () => {
      await using opened = await open();
      const { log, reopen } = opened;
      for (let i = 1; i <= 40; i++) {
        await log.append(Buffer.from(`entry ${i}`));
        if (i % 7 === 0) log.trim(i - 2);
      }
      assert.ok(log.start > 1 && log.start <= 33, `${log.start}`);
      const kept = await entries(log, 33);
      assert.deepEqual(
        kept,
        Array.from({ length: 8 }, (_, i) => [33 + i, `entry ${33 + i}`]),
      );
      log.trim(log.end);
      assert.equal(await log.append(Buffer.from("next")), 41);
      if (reopen === undefined) return;
      const again = await reopen();
      assert.deepEqual((await entries(again)).at(-1), [41, "next"]);
      assert.equal(await again.append(Buffer.from("more")), 42);
    });

    test("any run of appends, trims and restarts leaves what was appended", async () => {
      const step = fc.oneof(
        { weight: 6, arbitrary: fc.record({ kind: fc.constant("append"), size: fc.nat(3 * pageBytes) }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant("trim"), size: fc.nat(30) }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart"), size: fc.constant(0) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
          await using opened = await open();
          let { log } = opened;
          const expected = new Map<number, string>();
          let trimmed = 1;
          for (const { kind, size } of steps) {
            if (kind === "append") {
              const text = `${log.end} `.padEnd(size, "x");
              expected.set(await log.append(Buffer.from(text)), text);
            } else if (kind === "trim") {
              trimmed = Math.max(trimmed, Math.min(size, log.end));
              log.trim(trimmed);
            } else if (opened.reopen !== undefined) {
              log = await opened.reopen();
            }
          }
          assert.equal(log.end, expected.size + 1);
          assert.ok(log.start <= trimmed);
          assert.deepEqual(
            await entries(log, trimmed),
            [...expected].filter(([position]) => position >= trimmed),
          );
        }),
        { numRuns },
      );
    });
  });
}
