import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { EventClient } from "../support/events.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

test("each source and id once over restarts, by how long the window is now", async (t) => {
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const during = async (window: string, use: (each: EventClient) => Promise<void>) => {
    await using one = await ServerProcess.start({ dataDir, flags: ["--cloudevents-dedup-window", window] });
    await use(new EventClient(one.url, "kept"));
    assert.equal(await one.stop(), 0);
  };
  const place = (status: string, offset: number) => [{ status, partition: 0, offset }];
  await during("1h", async (each) => {
    await EventClient.create(each.server, "kept");
    await each.createStream("s");
    assert.deepEqual(await each.append("s", { id: "a" }), place("appended", 0));
  });
  await during("7d", async (each) => assert.deepEqual(await each.append("s", { id: "a" }), place("duplicate", 0)));
  await during("1ms", async (each) => {
    // The clock has surely moved on since the process before this one.
    assert.deepEqual(await each.append("s", { id: "a" }), place("appended", 1));
  });
  await during("15m", async (each) => assert.deepEqual(await each.append("s", { id: "a" }), place("duplicate", 1)));
  await during("0s", async (each) => {
    assert.deepEqual(await each.append("s", { id: "a" }), place("appended", 2));
    assert.deepEqual(await each.append("s", [{ id: "b" }, { id: "b" }]), [
      ...place("appended", 3),
      ...place("duplicate", 3),
    ]);
  });
});
