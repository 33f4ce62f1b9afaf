import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { eventually, StreamClient } from "../support/streams.ts";

const megabyte = "x".repeat(1_000_000);

function diskBytes(server: ServerProcess): number {
  return statSync(join(server.dataDir, "store", "data.mdb")).size;
}

/** Waits until the background has freed all but the newest batches. */
async function freed(server: ServerProcess): Promise<void> {
  await eventually(
    async () => {
      const { text } = await ask(`${server.url}/metrics`);
      return Number(/^service_store_entries (\d+)$/m.exec(text)?.[1]);
    },
    (entries) => entries < 13,
  );
}

test("the space of trimmed records is reused on disk", async () => {
  await using own = await ServerProcess.start();
  const writer = await StreamClient.create(own.url, "n");
  await writer.createStream("s", { retention: { max_bytes: 2_000_000 } });
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 8; i++) await writer.append("s", [megabyte]);
    await freed(own);
  }
  // 40 MB went through a partition that keeps 2 MB; a round writes 8 MB before it is freed.
  assert.ok(diskBytes(own) < 24_000_000, `${diskBytes(own)} bytes on disk`);
});

test("the space of dropped streams is reused on disk", async () => {
  await using own = await ServerProcess.start();
  const writer = await StreamClient.create(own.url, "n");
  for (let round = 0; round < 5; round++) {
    await writer.createStream("s");
    for (let i = 0; i < 8; i++) await writer.append("s", [megabyte]);
    assert.equal((await ask(writer.streamUrl("s"), { method: "DELETE" })).status, 200);
    await freed(own);
  }
  assert.ok(diskBytes(own) < 24_000_000, `${diskBytes(own)} bytes on disk`);
});
