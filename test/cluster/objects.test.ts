import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CachedObjectStore } from "../../src/adapter/files/cached-object-store.ts";
import { S3ObjectStore } from "../../src/adapter/s3/object-store.ts";
import { probeBucket } from "../../src/adapter/s3/probe.ts";
import { objectStoreSuite } from "../port/object-store-suite.ts";
import { temporaryFolder } from "../support/process.ts";
import { hasGo, S3Server } from "../support/s3.ts";

const skip = (await hasGo()) ? false : "needs go";
let server: S3Server;
let folder: string;
let opened = 0;
before(async () => {
  folder = await temporaryFolder();
  if (skip === false) server = await S3Server.start();
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const inBucket = () => new S3ObjectStore({ ...server.address, prefix: `${opened++}/` });

async function cached(bytesMax: number): Promise<{ store: CachedObjectStore; remote: S3ObjectStore; copies: string }> {
  const copies = join(folder, `${opened++}`);
  await CachedObjectStore.empty(copies);
  const remote = inBucket();
  return { store: new CachedObjectStore(remote, copies, bytesMax), remote, copies };
}

if (skip === false) {
  objectStoreSuite("S3", inBucket);
  objectStoreSuite("S3, cached", () => {
    const copies = join(folder, `${opened++}`);
    mkdirSync(copies);
    return new CachedObjectStore(inBucket(), copies, 100_000_000);
  });
}

test("objects of more than one page of a list are all listed", { skip }, async () => {
  const store = inBucket();
  const paths = Array.from({ length: 1_100 }, (_, i) => `many/${String(i).padStart(5, "0")}`);
  for (let at = 0; at < paths.length; at += 50) {
    await Promise.all(paths.slice(at, at + 50).map((path) => store.put(path, Buffer.from("x"))));
  }
  assert.deepEqual(
    (await store.list("many/")).map(({ path }) => path),
    paths,
  );
  await store.delete("many/");
  assert.deepEqual(await store.list(""), []);
});

test("a bucket that writes atomically is sound, and the probe leaves nothing", { skip }, async () => {
  const store = inBucket();
  assert.equal(await probeBucket(store, "x"), "sound");
  assert.deepEqual(await store.list(""), []);
});

test("wrong keys and a missing bucket are told, without the keys", { skip }, async () => {
  const wrong = new S3ObjectStore({ ...server.address, secretKey: "a-wrong-secret" });
  await assert.rejects(probeBucket(wrong, "x"), (error: Error) => {
    assert.match(error.message, /403 SignatureDoesNotMatch/);
    assert.doesNotMatch(`${error.message}${error.stack}`, /a-wrong-secret/);
    return true;
  });
  const none = new S3ObjectStore({ ...server.address, bucket: "no-such-bucket" });
  await assert.rejects(probeBucket(none, "x"), /404 NoSuchBucket/);
  await assert.rejects(none.get("a"), /404 NoSuchBucket/);
});

test("a bucket that ignores If-None-Match is refused, one that does not answer is unknown", async (t) => {
  const careless = createServer((request, response) => request.resume().on("end", () => response.end()));
  await new Promise<void>((resolve) => careless.listen(0, "127.0.0.1", resolve));
  const { port } = careless.address() as AddressInfo;
  const keys = { region: "us-east-1", bucket: "objects", prefix: "", accessKey: "a", secretKey: "b" };
  const store = new S3ObjectStore({ endpoint: `http://127.0.0.1:${port}`, ...keys });
  t.after(() => store.close());
  await assert.rejects(probeBucket(store, "x"), /8 of 8 writers of one new object succeeded/);
  await new Promise<void>((resolve) => {
    careless.close(() => resolve());
    careless.closeAllConnections();
  });
  assert.equal(await probeBucket(store, "x"), "unknown");
});

test("what was read or written is read again without the bucket", { skip }, async () => {
  const { store, remote } = await cached(1_000_000);
  await remote.put("read", Buffer.from("there before"));
  assert.equal(Buffer.from((await store.get("read"))!).toString(), "there before");
  await store.put("written", Buffer.from("new"));
  await store.files.write("graph", (file) => writeFile(file, "a graph"));
  for (const path of ["read", "written", "graph"]) await remote.delete(path);
  assert.equal(Buffer.from((await store.get("read"))!).toString(), "there before");
  assert.equal(Buffer.from((await store.get("written"))!).toString(), "new");
  assert.equal(await store.files.read("graph", (file) => readFile(file, "utf8")), "a graph");
});

test("an object is handed out as a file, and one that is missing as none", { skip }, async () => {
  const { store, remote, copies } = await cached(1_000_000);
  const large = Buffer.alloc(3_000_000, "0123456789");
  await remote.put("a/graph", large);
  const read = () => store.files.read("a/graph", (file) => readFile(file));
  const all = await Promise.all(Array.from({ length: 5 }, read));
  for (const each of all) assert.ok(large.equals(each!));
  assert.equal(await store.files.read("a/none", (file) => readFile(file)), undefined);
  assert.deepEqual(
    (await readdir(copies)).filter((name) => name.endsWith(".partial")),
    [],
  );
  await store.delete("a/");
  assert.equal(await read(), undefined);
});

test("copies take no more than their bound, and those that were used last stay", { skip }, async () => {
  const { store, copies } = await cached(1_000_000);
  for (let i = 0; i < 40; i++) {
    await store.put(`${i}`, Buffer.alloc(50_000, i));
    await store.get("0");
  }
  const names = await readdir(copies);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(copies, name))).size));
  const bytes = sizes.reduce((sum, each) => sum + each, 0);
  assert.ok(bytes <= 1_050_000, `${bytes} bytes`);
  assert.ok(names.includes("0") && names.includes("39") && !names.includes("1"));
  for (let i = 0; i < 40; i++) assert.equal((await store.get(`${i}`))![0], i);
});
