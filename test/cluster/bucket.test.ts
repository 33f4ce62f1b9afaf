import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { S3ObjectStore } from "../../src/adapter/s3/object-store.ts";
import { NodeCluster } from "../support/cluster.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { hasGo, S3Server } from "../support/s3.ts";

const skip = (await hasJava()) && (await hasGo()) ? false : "needs java, mvn and go";
const namespace = "/v1/namespaces/shop";
const dim = 8;
/** Enough for a graph. */
const vectors = 2_500;

/** A client that asks again while there is no answer. */
class Shop {
  readonly #cluster: NodeCluster;

  constructor(cluster: NodeCluster) {
    this.#cluster = cluster;
  }

  async call<T = unknown>(node: number, method: string, path: string, body?: object, key?: string): Promise<T> {
    for (;;) {
      const answer = await this.attempt<T>(node, method, path, body, key);
      if (answer.status < 300) return answer.body;
      if (answer.status !== 503) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      await sleep(100);
    }
  }

  async attempt<T>(
    node: number,
    method: string,
    path: string,
    body?: object,
    key?: string,
  ): Promise<{ status: number; body: T }> {
    try {
      const response = await fetch(`${this.#cluster.urlOf(node)}${path}`, {
        method,
        headers: { ...(body && { "content-type": "application/json" }), ...(key && { "idempotency-key": key }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(20_000),
      });
      return { status: response.status, body: (await response.json()) as T };
    } catch {
      return { status: 503, body: undefined as T };
    }
  }

  async append(node: number, text: string): Promise<void> {
    const records = [{ value: Buffer.from(text).toString("base64") }];
    await this.call(node, "POST", `${namespace}/streams/orders/partitions/0/records`, { records }, text);
  }

  async upsert(node: number, from: number, count: number): Promise<void> {
    for (let at = from; at < from + count; at += 500) {
      const ops = Array.from({ length: Math.min(500, from + count - at) }, (_, i) => ({
        upsert: { id: at + i, source: { body: `word${at + i} common` }, vectors: { v: vectorOf(at + i) } },
      }));
      await this.call(node, "POST", `${namespace}/collections/products/documents`, { ops }, `upsert ${at}`);
    }
  }

  async search(node: number, id: number): Promise<number[]> {
    const retrieve = [{ text: { field: "body", query: `word${id}` } }];
    const { rows } = await this.call<{ rows: { _id: number }[] }>(node, "POST", `${namespace}/query`, {
      from: "products",
      retrieve,
    });
    return rows.map((row) => row._id);
  }

  async nearest(node: number, id: number): Promise<number | undefined> {
    const retrieve = [{ vector: { field: "v", query: vectorOf(id), k: 3 } }];
    const { rows } = await this.call<{ rows: { _id: number }[] }>(node, "POST", `${namespace}/query`, {
      from: "products",
      retrieve,
    });
    return rows[0]?._id;
  }

  async records(node: number): Promise<number> {
    const path = `${namespace}/streams/orders/partitions/0/records?offset=0&max_bytes=1`;
    return (await this.call<{ high_watermark: number }>(node, "GET", path)).high_watermark;
  }
}

function vectorOf(id: number): number[] {
  return Array.from({ length: dim }, (_, i) => Math.sin(id * 12.9898 + i * 78.233));
}

async function until(what: string, is: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 60_000; !(await is()); await sleep(100)) {
    if (Date.now() > endMs) throw new Error(`waited in vain: ${what}`);
  }
}

test("objects are in a bucket; while it is gone writes and reads go on, and sealing waits", { skip }, async (t) => {
  await using kafka = await KafkaCluster.start();
  await using server = await S3Server.start();
  const objects = new S3ObjectStore({ ...server.address, prefix: "prod/" });
  const env = { ...server.env("prod"), SERVICE_COLLECTION_SEAL_RECORDS: "3000" };
  await using cluster = await NodeCluster.start(kafka, `bucket-${process.pid}`, { env });
  const shop = new Shop(cluster);
  await shop.call(0, "POST", "/v1/namespaces", { name: "shop" });
  await shop.call(0, "POST", `${namespace}/streams`, { name: "orders" });
  const fields = [{ name: "body", source_path: "body", kind: { text: { analyzer: "standard" } }, indexed: true }];
  const schema = { fields, vectors: [{ name: "v", dim, distance: "cosine" }] };
  await shop.call(0, "POST", `${namespace}/collections`, { name: "products", schema });
  await shop.upsert(0, 0, vectors);
  await shop.append(1, "before");
  await until("segments, graphs and a dataset in the bucket", async () => {
    const paths = (await objects.list("")).map(({ path }) => path);
    return ["/segments/", "/graphs/", "/dataset.lance/data/"].every((kind) =>
      paths.some((path) => path.includes(kind)),
    );
  });
  assert.deepEqual(await shop.search(1, 7), [7]);
  assert.equal(await shop.nearest(2, 1_234), 1_234);
  const first = await cluster.owner();
  assert.ok((await readdir(join(cluster.folderOf(first), "objects-cache"))).length > 0);

  await server.kill();
  await shop.upsert(1, vectors, 100);
  await shop.append(2, "without the bucket");
  for (const i of [0, 1, 2]) {
    assert.equal(await shop.records(i), 2);
    assert.deepEqual(await shop.search(i, 7), [7], "what was indexed before is found");
    assert.deepEqual(await shop.search(i, vectors + 99), [vectors + 99], "what was not sealed yet is found");
  }
  t.diagnostic("writes, reads and searches without the bucket");

  await cluster.kill(first);
  await shop.append((first + 1) % 3, "by another owner");
  await shop.upsert((first + 2) % 3, vectors + 100, 100);
  assert.equal(await shop.records((first + 1) % 3), 3);
  const { count } = await shop.call<{ count: number }>(
    (first + 1) % 3,
    "POST",
    `${namespace}/collections/products/documents/count`,
    {},
  );
  assert.equal(count, vectors + 200);
  // It has no copies of what the other one wrote.
  const cold = await shop.attempt((first + 1) % 3, "POST", `${namespace}/query`, {
    from: "products",
    retrieve: [{ text: { field: "body", query: "word7" } }],
  });
  assert.equal(cold.status, 503);
  // A node that has data starts without the bucket.
  await cluster.launch(first);
  t.diagnostic("another owner without the bucket");

  await server.launch();
  for (const i of [0, 1, 2]) {
    assert.deepEqual(await shop.search(i, 7), [7]);
    assert.deepEqual(await shop.search(i, vectors + 199), [vectors + 199]);
    assert.equal(await shop.nearest(i, 1_234), 1_234);
  }
  const before = new Set((await objects.list("")).map(({ path }) => path));
  await shop.upsert(0, vectors + 200, 100);
  await until("what waited is sealed", async () => (await objects.list("")).some(({ path }) => !before.has(path)));
});
