import assert from "node:assert/strict";
import { type Answer, ask, base64 } from "./http.ts";

export interface Question {
  readonly name: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const root = "/v1/namespaces/first";
const records = (stream: string, partition: number) => `${root}/streams/${stream}/partitions/${partition}/records`;
const event = { specversion: "1.0", type: "t", source: "/fixture", id: "e-1", data: { n: 1 } };
const eventHeaders = { "content-type": "application/cloudevents+json" };
const idempotent = { "idempotency-key": "fixture key" };

const schema = {
  fields: [
    { name: "title", kind: { text: { analyzer: "english", positions: true } } },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "sold", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "extra", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 4, distance: "cosine" }],
  sparse_vectors: [{ name: "s" }],
};

function document(id: number): object {
  return {
    id,
    source: {
      title: `running dog number ${id} of the ${["red", "green", "blue"][id % 3]} house`,
      tag: id % 4 === 0 ? ["a", "b"] : "c",
      n: id * 1_000,
      price: id / 8,
      sold: id % 2 === 0,
      at: new Date(1_700_000_000_000 + id * 3_600_000).toISOString(),
      extra: { deep: [id, null, "ü"] },
      unknown: `kept ${id}`,
    },
    vectors: { v: [Math.cos(id), Math.sin(id), id / 10, 1].map((each) => Math.round(each * 1_000) / 1_000) },
    sparse_vectors: { s: { indices: [id % 5, 10], values: [1, 0.5] } },
  };
}

export type Asker = (
  path: string,
  options?: { body?: unknown; headers?: Record<string, string>; method?: string },
) => Promise<Answer>;

export function asker(url: string, key: string): Asker {
  return (path, options = {}) =>
    ask(`${url}${path}`, { ...options, headers: { authorization: `Bearer ${key}`, ...options.headers } });
}

/** Something of everything that a store holds. */
export async function populate(send: Asker): Promise<void> {
  const done = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await send(path, { body, headers });
    assert(answer.status < 300, `${path}: ${answer.text}`);
  };
  await done("/v1/namespaces", { name: "first" });
  await done("/v1/namespaces", { name: "empty" });
  await done(`${root}/streams`, { name: "s", partitions: 3, retention: { max_bytes: 1_000_000_000 } });
  await done(`${root}/streams`, { name: "e", partitions: 2 });
  await done(`${root}/streams`, { name: "fill" });
  await done(`${root}/streams`, { name: "dropped" });
  await done(`${root}/links`, { name: "count", source: "s", options: { by: "key", amount: "one" } });
  await done(`${root}/links`, { name: "later", source: "s", target: { kind: "warehouse", name: "w" } });
  await done(`${root}/collections`, { name: "c", schema });
  await done(`${root}/collections`, { name: "filled", schema: { fields: [{ name: "n", kind: "i64" }] } });
  await done(`${root}/links`, { name: "filler", source: "fill", target: { kind: "collection", name: "filled" } });
  await done(`${root}/aliases`, { actions: [{ add: { alias: "latest", collection: "c" } }] });
  for (let i = 0; i < 12; i++) {
    const headers = [{ key: "h", value: base64(`header ${i}`) }];
    const values = Array.from({ length: 3 }, (_, r) => ({
      key: base64(`k${i % 2}`),
      value: base64(`value ${i} ${r}`),
      timestamp_ms: 1_700_000_000_000 + i,
      headers,
    }));
    await done(records("s", i % 3), { records: values });
  }
  await done(records("s", 0), { records: [{}, { value: "" }] }, idempotent);
  await done(`${root}/streams/e/events`, event, eventHeaders);
  for (let i = 2; i < 20; i++) await done(`${root}/streams/e/events`, { ...event, id: `e-${i}` }, eventHeaders);
  const fills = Array.from({ length: 10 }, (_, id) => ({ value: base64(JSON.stringify({ id, source: { n: id } })) }));
  await done(records("fill", 0), { records: fills });
  const upserts = Array.from({ length: 60 }, (_, id) => ({ upsert: document(id) }));
  await done(`${root}/collections/c/documents`, { ops: upserts });
  await settled(send);
  const changes = [
    { delete: { id: 7 } },
    { patch: { id: 8, source: { tag: "patched", n: null }, vectors: { v: [0, 0, 0, 1] } } },
    { upsert: document(9) },
    { insert: document(100) },
  ];
  await done(`${root}/collections/c/documents`, { ops: changes }, idempotent);
  assert.equal((await send(`${root}/streams/dropped`, { method: "DELETE" })).status, 200);
  await settled(send);
  // After the last manifest: these are in the log's tail alone when the process ends.
  await done(`${root}/collections/c/documents`, { ops: [{ upsert: document(101) }, { delete: { id: 3 } }] });
}

/** Waits until links have applied and indexes hold everything. */
export async function settled(send: Asker): Promise<void> {
  for (;;) {
    const links = await Promise.all(["count", "filler"].map((name) => send(`${root}/links/${name}`)));
    const infos = await Promise.all(["c", "filled"].map((name) => send(`${root}/collections/${name}`)));
    const lag = links.flatMap(({ json }) => json.lag as { records: number }[]).some((each) => each.records > 0);
    const behind = infos.some(({ json }) => json.backpressure.backlog_records > 0 || json.manifest.version === 0);
    if (!lag && !behind) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const vector = { vector: { field: "v", query: [1, 0, 0.5, 1], k: 20, exact: true } };
const text = { text: { field: "title", query: "dogs of red houses", k: 20 } };
const sparse = { sparse: { field: "s", query: { indices: [10, 2], values: [1, 1] }, k: 20 } };

/** What tells every record, document, counter and name. None of them changes anything. */
export const questions: readonly Question[] = [
  { name: "namespaces", path: "/v1/namespaces" },
  { name: "streams", path: `${root}/streams` },
  { name: "stream", path: `${root}/streams/s` },
  ...[0, 1, 2].map((p) => ({ name: `records of ${p}`, path: `${records("s", p)}?offset=0` })),
  ...[0, 1].map((p) => ({ name: `events of ${p}`, path: `${root}/streams/e/partitions/${p}/events?offset=0` })),
  { name: "records by time", path: `${records("s", 0)}?timestamp_ms=1700000000005` },
  { name: "links", path: `${root}/links` },
  ...["count", "later", "filler"].map((link) => ({ name: `link ${link}`, path: `${root}/links/${link}` })),
  { name: "aliases", path: `${root}/aliases` },
  { name: "documents", path: `${root}/collections/c/documents/scroll`, body: { limit: 1_000 } },
  { name: "filled documents", path: `${root}/collections/filled/documents/scroll`, body: {} },
  { name: "count", path: `${root}/collections/latest/documents/count`, body: { filter: { term: { tag: "c" } } } },
  { name: "vector query", path: `${root}/query`, body: { from: "collections.c", retrieve: [vector], limit: 20 } },
  {
    name: "text query",
    path: `${root}/query`,
    body: { from: "collections.c", retrieve: [text], limit: 20, highlight: { fields: ["title"] } },
  },
  { name: "sparse query", path: `${root}/query`, body: { from: "collections.latest", retrieve: [sparse], limit: 20 } },
  {
    name: "hybrid query",
    path: `${root}/query`,
    body: {
      from: "collections.c",
      retrieve: [vector, text],
      filter: { range: { n: { gte: 5_000 } } },
      facets: [{ field: "tag" }],
    },
  },
  {
    name: "sql over documents",
    path: `${root}/sql`,
    body: { query: "SELECT tag, count(*) AS n, sum(price) AS p FROM collections.c GROUP BY tag ORDER BY tag" },
  },
  {
    name: "sql over records",
    path: `${root}/sql`,
    body: {
      query:
        'SELECT partition, count(*) AS n, max("offset") AS last FROM streams.s GROUP BY partition ORDER BY partition',
    },
  },
  {
    name: "sql over counters",
    path: `${root}/sql`,
    body: { query: "SELECT counter, value FROM links.count ORDER BY counter" },
  },
];

/** What is found out by sending again what was sent: it must be known, and change nothing. */
export const repeats: readonly Question[] = [
  { name: "append replayed", path: records("s", 0), body: { records: [{}, { value: "" }] }, headers: idempotent },
  { name: "event known", path: `${root}/streams/e/events`, body: event, headers: eventHeaders },
  {
    name: "write replayed",
    path: `${root}/collections/c/documents`,
    body: {
      ops: [
        { delete: { id: 7 } },
        { patch: { id: 8, source: { tag: "patched", n: null }, vectors: { v: [0, 0, 0, 1] } } },
        { upsert: document(9) },
        { insert: document(100) },
      ],
    },
    headers: idempotent,
  },
];

/** Asks everything; what may differ from run to run is left out. */
export async function answersOf(send: Asker, asked: readonly Question[]): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { name, path, body, headers = {} } of asked) {
    const answer = await send(path, { ...(body === undefined ? {} : { body }), headers });
    const { took_ms: _, backlog: __, ...json } = Array.isArray(answer.json) ? { events: answer.json } : answer.json;
    answers[name] = { status: answer.status, replayed: answer.headers.get("idempotency-replayed"), json };
  }
  return answers;
}
