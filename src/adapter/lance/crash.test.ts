import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { readRows } from "../../../test/support/lance-reader.ts";
import { numberedChange, writerSchema } from "../../../test/support/lance-writer.ts";
import { LanceColumnar } from "./columnar.ts";

const writer = join(import.meta.dirname, "../../../test/support/lance-writer.ts");

/** Runs the writer from a step on and kills it this long after the given step has begun. Returns what it told. */
async function runAndKill(path: string, first: number, steps: number, delayMs: number) {
  const child = spawn(process.execPath, [writer, path, String(first)], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let begun = -1;
  let ended = -1;
  let version = -1;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, step, at] = line.split(" ");
    if (what === "begin") begun = Number(step);
    else [ended, version] = [Number(step), Number(at)];
    if (what === "begin" && begun === first + steps) setTimeout(() => child.kill("SIGKILL"), delayMs);
  }
  await exited;
  return { begun, ended, version };
}

test("a writer killed anywhere loses nothing that it told, and its last change can be applied again", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lance-crash-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "c.lance");
  const model = new Map<number, number>();
  let next = 0;
  for (const [round, delayMs] of [0, 3, 7, 12, 19].entries()) {
    const { begun, ended, version } = await runAndKill(path, next, round + 2, delayMs);
    assert.ok(begun >= next + round + 2);
    for (let step = next; step <= ended; step++) {
      const { upserts, deletes } = numberedChange(step);
      for (const { id } of upserts) model.set(id, step);
      for (const id of deletes) model.delete(id);
    }
    const told = new Map((await readRows(path, version)).map((row) => [row["_id"], row["_version"]]));
    assert.deepEqual(told, new Map([...model].sort(([a], [b]) => a - b)), "the version that was told is whole");

    const dataset = await new LanceColumnar().open(path, writerSchema);
    const { upserts, deletes } = numberedChange(begun);
    for (const { id } of upserts) model.set(id, begun);
    for (const id of deletes) model.delete(id);
    const again = await dataset.apply(numberedChange(begun));
    await dataset.close();
    const rows = await readRows(path, again);
    assert.deepEqual(
      rows.map((row) => [row["_id"], row["_version"], row["title"]]),
      [...model].sort(([a], [b]) => a - b).map(([id, step]) => [id, step, `title ${id} ${step}`]),
    );
    next = begun + 1;
  }
});
