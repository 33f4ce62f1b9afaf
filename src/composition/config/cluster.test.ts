import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/process.ts";
import { parseClusterObjects } from "./cluster.ts";
import { loadServerConfig } from "./config.ts";

const env = {
  SERVICE_CLUSTER_LOG: "kafka://127.0.0.1:9092/x",
  SERVICE_CLUSTER_OBJECTS: "s3://bucket/prod",
  SERVICE_CLUSTER_OBJECTS_ACCESS_KEY: "access",
  SERVICE_CLUSTER_OBJECTS_SECRET_KEY: "hush",
};

for (const [text, want] of [
  ["s3://bucket", { kind: "s3", bucket: "bucket", prefix: "" }],
  ["s3://bucket/", { kind: "s3", bucket: "bucket", prefix: "" }],
  ["s3://bucket/a/b", { kind: "s3", bucket: "bucket", prefix: "a/b/" }],
  ["s3://my.bucket-1/a/", { kind: "s3", bucket: "my.bucket-1", prefix: "a/" }],
  ["file:///a/b", { kind: "files", folder: "/a/b" }],
] as const) {
  test(`objects at ${text}`, () => assert.deepEqual(parseClusterObjects(text, "f"), want));
}

for (const text of [
  "s3://",
  "s3://B",
  `s3://${"name:word"}@bucket/a`,
  "s3://bucket/a?region=x",
  "s3://bucket/../a",
  "s3://bucket//a",
  "/a",
  "file://host/a",
  "https://bucket/a",
  "",
]) {
  test(`no objects at ${JSON.stringify(text)}`, () =>
    assert.throws(() => parseClusterObjects(text, "the_field"), { reason: "invalid_argument", message: /the_field/ }));
}

test("the keys of a bucket come from variables or files, and both are needed", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "secret");
  writeFileSync(file, "from a file\n");
  const load = (more: Record<string, string>) => loadServerConfig({ argv: [], env: { ...env, ...more } });
  assert.deepEqual(load({}).bucketKeys, { accessKey: "access", secretKey: "hush" });
  const inFile = { SERVICE_CLUSTER_OBJECTS_SECRET_KEY: "", SERVICE_CLUSTER_OBJECTS_SECRET_KEY_FILE: file };
  assert.deepEqual(load(inFile).bucketKeys, { accessKey: "access", secretKey: "from a file" });
  assert.throws(() => load({ SERVICE_CLUSTER_OBJECTS_SECRET_KEY_FILE: file }), /SECRET_KEY: is given twice/);
  assert.throws(() => load({ SERVICE_CLUSTER_OBJECTS_ACCESS_KEY: "" }), /ACCESS_KEY: is needed/);
  assert.throws(() => load({ SERVICE_CLUSTER_OBJECTS_SECRET_KEY: "" }), /SECRET_KEY: is needed/);
  assert.throws(() => load({ SERVICE_CLUSTER_OBJECTS_ENDPOINT: "ftp://x" }), /OBJECTS_ENDPOINT/);
  assert.throws(() => load({ SERVICE_CLUSTER_OBJECTS_REGION: "eu west" }), /OBJECTS_REGION/);
  assert.throws(() => load({ SERVICE_CLUSTER_SNAPSHOT_INTERVAL: "10ms" }), /SNAPSHOT_INTERVAL/);
  assert.equal(load({ SERVICE_CLUSTER_OBJECTS: "file:///a" }).bucketKeys, undefined);
});
