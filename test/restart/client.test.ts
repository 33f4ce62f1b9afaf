import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { Client, type StoredRecord } from "../../src/client/index.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : new TextDecoder().decode(bytes));
const values = (records: readonly StoredRecord[]) => records.map(({ value }) => text(value));

test("a server that is killed and started again: appends are retried once, a tail resumes", async () => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = cleanup.adopt(await temporaryFolder(), (folder) => rm(folder, { recursive: true }));
  const first = await ServerProcess.start({ dataDir });
  const { port } = new URL(first.url);
  // On a busy machine the second one takes its time to start.
  const own = new Client({ url: first.url, retry: { attemptsMax: 1_000, waitMs: 20, waitMsMax: 200 } });
  await own.createNamespace("n");
  await own.namespace("n").createStream({ name: "s" });
  const stream = own.namespace("n").stream("s");
  const seen: string[] = [];
  const stop = new AbortController();
  const tailing = (async () => {
    for await (const { value } of stream.tail({ partition: 0, from: "start", signal: stop.signal })) {
      seen.push(text(value)!);
    }
  })().catch(() => {});
  const writing = (async () => {
    for (let i = 0; i < 300; i++) await stream.append(0, [{ value: `${i}` }]);
  })();
  await eventually(
    async () => seen.length,
    (count) => count > 50,
  );
  await first.kill();
  await using second = await ServerProcess.start({ dataDir, listen: `127.0.0.1:${port}` });
  assert.equal(second.url, first.url);
  await writing;
  const wanted = Array.from({ length: 300 }, (_, i) => `${i}`);
  const { records } = await stream.fetch({ from: 0, maxBytes: 16 * 1024 * 1024 });
  assert.deepEqual(values(records), wanted);
  await eventually(
    async () => seen.length,
    (count) => count >= 300,
  );
  assert.deepEqual(seen, wanted);
  stop.abort();
  await tailing;
});
