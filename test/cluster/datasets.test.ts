import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LanceColumnar } from "../../src/adapter/lance/columnar.ts";
import { S3ObjectStore } from "../../src/adapter/s3/object-store.ts";
import { lanceOptions } from "../../src/composition/objects.ts";
import { readRows } from "../support/lance-reader.ts";
import { numberedChange, writerSchema } from "../support/lance-writer.ts";
import { hasGo, S3Server } from "../support/s3.ts";

const skip = (await hasGo()) ? false : "needs go";
let server: S3Server;
before(async () => {
  if (skip === false) server = await S3Server.start();
});
after(() => server?.[Symbol.asyncDispose]());

test("a dataset is written to a bucket, maintained there, and read by others", { skip }, async () => {
  const objects = new S3ObjectStore({ ...server.address, prefix: "datasets/" });
  const options = lanceOptions({ kind: "s3", address: server.address, cacheFolder: "", cacheBytesMax: 1 });
  const place = objects.datasetPlace("c/dataset.lance")!;
  const model = new Map<number, number>();
  const steps = 12;
  let version = 0;
  for (let step = 0; step < steps; step++) {
    // Each with a handle of its own, as owners that come after each other have.
    const dataset = await new LanceColumnar(options).open(place, writerSchema);
    const change = numberedChange(step);
    for (const { id } of change.upserts) model.set(id, step);
    for (const id of change.deletes) model.delete(id);
    version = await dataset.apply(change);
    if (step === steps - 1) {
      ({ version } = await dataset.maintain({ keepFromMs: Date.now(), pinned: [version], force: true }));
    }
    await dataset.close();
  }
  const rows = await readRows(place, version, options.storage);
  assert.deepEqual(
    rows.map((row) => [row["_id"], row["_version"]]),
    [...model].sort(([a], [b]) => a - b),
  );
  assert.ok((await objects.list("c/dataset.lance/data/")).length > 0);
  await objects.delete("c/");
  assert.deepEqual(await objects.list(""), []);
});
