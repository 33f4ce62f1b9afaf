import assert from "node:assert/strict";
import { CollectionClient } from "../../support/collections.ts";
import { ask, base64 } from "../../support/http.ts";
import type { ServerProcess } from "../../support/process.ts";
import { firstColumn, query, RawPostgres } from "./raw-client.ts";

/** A namespace with a collection and a stream, the same for every test of this wire. */
export async function makeShop(url: string, namespace = "shop"): Promise<CollectionClient> {
  const shop = await CollectionClient.create(url, namespace);
  await shop.made("items", {
    fields: [
      { name: "title", source_path: "title", kind: { text: { analyzer: "standard", positions: true } } },
      { name: "color", source_path: "color", kind: "keyword", fast: true },
    ],
    vectors: [{ name: "v", dim: 3, distance: "cosine" }],
  });
  await shop.written("items", [
    { upsert: { id: 1, source: { title: "red shoe", color: "red" }, vectors: { v: [1, 0, 0.5] } } },
    { upsert: { id: 2, source: { title: "blue hat", color: "blue" }, vectors: { v: [0, 1, 0] } } },
    { upsert: { id: 3, source: { title: "naïve 🧦", color: "red" }, vectors: { v: [0, 0, 1] } } },
  ]);
  await ask(`${shop.url}/streams`, { body: { name: "orders", partitions: 1 } });
  await ask(`${shop.url}/streams/orders/partitions/0/records`, {
    body: { records: [{ key: base64("k"), value: base64("v") }] },
  });
  return shop;
}

/** The wire, and everything else, still serves. */
export async function stillServes(server: ServerProcess): Promise<void> {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  client.send(query("select count(*) from items"));
  assert.deepEqual(firstColumn(await client.until("Z")), ["3"]);
  client.socket.destroy();
  assert.equal((await ask(`${server.url}/health`)).status, 200);
}
