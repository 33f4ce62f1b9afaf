import assert from "node:assert/strict";
import { test } from "node:test";
import { events, LiveNamespaceClient, withEvents } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";

test("commits and their events are one: after a crash there are as many of both", async () => {
  await using first = await ServerProcess.start();
  const live = await withEvents(first, "n");
  let done = 0;
  const writers = Array.from({ length: 8 }, async () => {
    for (;;) {
      await live.mutate("_tables:insert", { table: "notes", document: { text: "x" } });
      if (++done === 40) void first.kill();
    }
  });
  await Promise.allSettled(writers);
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  const again = await LiveNamespaceClient.create(second, "n");
  const stored = (await again.query("_tables:list", { table: "notes" })) as { _id: string }[];
  const told = await events(second, "n");
  assert.ok(stored.length >= done, `${stored.length} of ${done}`);
  assert.deepEqual(new Set(told.map(({ subject }) => subject)), new Set(stored.map(({ _id }) => _id)));
  assert.equal(told.length, stored.length);
});
