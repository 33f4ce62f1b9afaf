import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { Client } from "../../src/client/index.ts";
import type { CommandLine } from "./command-line.ts";
import { startCommand } from "./process.ts";

export function lineOf(i: number): string {
  return JSON.stringify({ id: i, n: i, text: `row number ${i}` });
}

const schema = { fields: [{ name: "n", kind: "i64" }], vectors: [] } as const;

export interface KilledImport {
  readonly cli: CommandLine;
  readonly path: string;
  readonly target: "stream" | "collection";
  readonly name: string;
  readonly batch: number;
  readonly kills: number;
}

function rowsOf(checkpoint: string): number {
  if (!existsSync(checkpoint)) return -1;
  return JSON.parse(readFileSync(checkpoint, "utf8")).position.rows as number;
}

/**
 * Starts an import again and again and kills it: at once when its checkpoint has moved, at any other moment by chance.
 * The last one runs to its end. Returns how many were killed under way.
 */
export async function importKilled({ cli, path, target, name, batch, kills }: KilledImport): Promise<number> {
  if (target === "stream") await cli.ok(["stream", "create", name, "--partitions", "3"]);
  const checkpoint = `${path}.checkpoint`;
  const into = target === "stream" ? ["-s", name, "--key", "id"] : ["-c", name, "--schema", JSON.stringify(schema)];
  const args = ["import", path, ...into, "--batch", String(batch), "--checkpoint", checkpoint];
  let killed = 0;
  for (let i = 0; i < kills; i++) {
    const before = rowsOf(checkpoint);
    const child = startCommand(args, cli.env);
    child.stdout.resume();
    child.stderr.resume();
    const exited = once(child, "exit");
    let ended = false;
    exited.then(() => {
      ended = true;
    });
    // A few more steps of the checkpoint each time, then some part of a request's way.
    while (!ended && rowsOf(checkpoint) < before + 1 + i * batch) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < i * 3 && !ended; turn++) await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGKILL");
    await exited;
    if (child.signalCode === "SIGKILL") killed++;
  }
  await cli.ok(args);
  return killed;
}

/** Every row once, none besides. */
export async function storedRows(
  url: string,
  namespace: string,
  target: "stream" | "collection",
  name: string,
  rows: number,
): Promise<void> {
  const ns = new Client(url).namespace(namespace);
  const found: string[] = [];
  if (target === "collection") {
    for await (const { id, source } of ns.collection(name).scroll({ pageSize: 5_000 })) {
      assert.equal(source["n"], id);
      found.push(String(id));
    }
  } else {
    for (const { partition } of (await ns.stream(name).get()).partitions) {
      let last = -1;
      for await (const { value } of ns.stream(name).read({ partition })) {
        const { n } = JSON.parse(new TextDecoder().decode(value)) as { n: number };
        assert.ok(n > last, `partition ${partition} keeps the order of the file`);
        last = n;
        found.push(String(n));
      }
    }
  }
  assert.equal(found.length, rows);
  assert.equal(new Set(found).size, rows);
}
