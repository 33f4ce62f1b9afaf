import assert from "node:assert/strict";
import { CollectionClient } from "./collections.ts";
import { ask, base64 } from "./http.ts";
import { eventually } from "./streams.ts";

/** The rows that the SQL cases of test/sql are about, for every wire alike. */

export const itemSchema = {
  fields: [
    { name: "name", kind: "keyword" },
    { name: "kind", kind: "keyword", fast: true },
    { name: "price", kind: "f64" },
    { name: "qty", kind: "i64" },
    { name: "sold", kind: "bool" },
    { name: "added", kind: "date" },
    { name: "note", kind: "text" },
    { name: "meta", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 2, distance: "l2" }],
};

export interface Item {
  readonly id: number;
  readonly source: Readonly<Record<string, unknown>>;
  readonly vectors: { readonly v: readonly number[] };
}

const kinds = ["tool", "toy", "book"];
const colours = ["red", "green", "blue", "grey"];

/** Thirty items; every seventh has no price, every fifth no note, the last one a kind of its own. */
export const items: readonly Item[] = Array.from({ length: 30 }, (_, i) => {
  const id = i + 1;
  return {
    id,
    source: {
      name: `item${id}`,
      kind: id === 30 ? "other" : kinds[id % 3],
      ...(id % 7 === 0 ? {} : { price: id * 1.25 }),
      qty: id % 10,
      sold: id % 2 === 0,
      added: `2024-01-${String(id).padStart(2, "0")}T12:00:00Z`,
      ...(id % 5 === 0 ? {} : { note: `${colours[id % 4]} thing number ${id}` }),
      meta: { rank: id, tags: [`t${id % 2}`, `u${id % 3}`] },
    },
    vectors: { v: [id, 30 - id] },
  };
});

export const kindSchema = {
  fields: [
    { name: "kind", kind: "keyword" },
    { name: "label", kind: "keyword" },
    { name: "weight", kind: "i64" },
  ],
};

export const kindRows: readonly { readonly id: number; readonly source: Readonly<Record<string, unknown>> }[] = [
  { id: 1, source: { kind: "tool", label: "Tools", weight: 3 } },
  { id: 2, source: { kind: "toy", label: "Toys", weight: 1 } },
  { id: 3, source: { kind: "book", label: "Books", weight: 2 } },
  { id: 4, source: { kind: "food", label: "Food" } },
];

export interface EventRow {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string | undefined;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Ten records in each of three partitions, a second apart. */
export const events: readonly EventRow[] = Array.from({ length: 30 }, (_, n) => {
  const partition = Math.floor(n / 10);
  const offset = n % 10;
  return {
    partition,
    offset,
    timestampMs: 1_700_000_000_000 + n * 1000,
    key: offset === 9 ? undefined : `k${n % 4}`,
    value: JSON.stringify({ n, word: colours[n % 4] }),
    headers: { part: String(partition) },
  };
});

export const datasetNamespace = "logic";

/** Writes all of it into a server, through REST. */
export async function loadSqlDataset(url: string, namespace = datasetNamespace): Promise<CollectionClient> {
  const client = await CollectionClient.create(url, namespace);
  await client.made("items", itemSchema);
  await client.made("kinds", kindSchema);
  await client.made("nothing", kindSchema);
  await client.written(
    "items",
    items.map((item) => ({ upsert: item })),
  );
  await client.written(
    "kinds",
    kindRows.map((row) => ({ upsert: row })),
  );
  const actions = [{ add: { alias: "goods", collection: "items" } }];
  assert.equal((await ask(`${client.url}/aliases`, { body: { actions } })).status, 200);
  const streams = `${client.url}/streams`;
  for (const body of [{ name: "events", partitions: 3 }, { name: "silent" }]) {
    assert.equal((await ask(streams, { body })).status, 201);
  }
  for (const partition of [0, 1, 2]) {
    const records = events
      .filter((event) => event.partition === partition)
      .map(({ key, value, timestampMs, headers }) => ({
        ...(key === undefined ? {} : { key: base64(key) }),
        value: base64(value),
        timestamp_ms: timestampMs,
        headers: Object.entries(headers).map(([name, text]) => ({ key: name, value: base64(text) })),
      }));
    const done = await ask(`${streams}/events/partitions/${partition}/records`, { body: { records } });
    assert.equal(done.status, 200, done.text);
  }
  const link = { name: "counts", source: "events", options: { amount: "one" } };
  assert.equal((await ask(`${client.url}/links`, { body: link })).status, 201);
  await eventually(
    async () => (await ask(`${client.url}/links/counts`)).json.lag as { records: number }[],
    (lag) => lag.every(({ records }) => records === 0),
  );
  return client;
}
