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

test("tables outlive a restart", async () => {
  await using first = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(first, "kept");
  await live.mutate("_tables:create", { table: "things" });
  const before = await live.mutateAt("_tables:insert", {
    table: "things",
    document: { n: { $int64: "9007199254740993" } },
  });
  await first.kill();
  await using second = await ServerProcess.start({ dataDir: first.dataDir });
  const again = new LiveNamespaceClient((await LiveNamespaceClient.create(second, "kept")).client, "kept");
  const rows = (await again.query("_tables:list", { table: "things" })) as { n: unknown }[];
  assert.deepEqual(
    rows.map(({ n }) => n),
    [{ $int64: "9007199254740993" }],
  );
  const after = await again.mutateAt("_tables:insert", { table: "things", document: {} });
  assert.equal(after.tick, before.tick + 1);
});
