import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { onAuthStore } from "../../src/composition/auth-store.ts";
import { temporaryFolder } from "../support/process.ts";

const rounds = 60;
const names = ["one", "two", "three"];

test("processes that open and change the shared store at once see what the others have committed", async () => {
  const dataDir = await temporaryFolder();
  const children = names.map((name) =>
    fork(new URL("../support/auth-store-process.ts", import.meta.url), [dataDir, name]),
  );
  const winners: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const answers = children.map((child) => once(child, "message") as Promise<[boolean]>);
    for (const child of children) child.send(round);
    const won = (await Promise.all(answers)).map(([each]) => each);
    assert.equal(won.filter(Boolean).length, 1, `round ${round}`);
    winners.push(names[won.indexOf(true)]!);
  }
  for (const child of children) child.disconnect();
  const stored = await onAuthStore(dataDir, async (store) =>
    winners.map((_, round) => Buffer.from(store.get(Buffer.from(`round/${round}`)) ?? []).toString()),
  );
  assert.deepEqual(stored, winners);
  await rm(dataDir, { recursive: true });
});
