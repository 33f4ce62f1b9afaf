import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { startMemoryEngine } from "../../../test/support/memory-engine.ts";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { SeededRandom } from "../../adapter/simulated/random.ts";
import { restQueries } from "../../edge/rest/query/format.ts";
import { encodedResponse, rpcQueries, searchText } from "../../edge/rpc/query-format.ts";
import { queryJson, resultMessage } from "../../edge/rpc/query-message.ts";
import { tokenMessage } from "../../edge/rpc/request.ts";
import { SearchRequestSchema, SearchResponseSchema } from "../../gen/service/collection/v1/query_pb.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { Snapshot } from "../../port/store.ts";
import type { WriteOp } from "../collection/ops.ts";
import type { Engine } from "../engine.ts";
import type { FormatName } from "../retrieval/format.ts";
import { parseQuery } from "../retrieval/parse.ts";
import { parseSchema } from "../schema/schema-parse.ts";

/** What the threads read by themselves: the store as it was some commits ago. */
let file: Snapshot;
let store: MemoryStore;
let engine: Engine;

before(async () => {
  store = new MemoryStore();
  file = store.snapshot();
  const formatOf = (name: FormatName) => (name === "rpc" ? rpcQueries : restQueries);
  const answers = { formatOf, store: { get: (key: Uint8Array) => file.get(key) } };
  engine = await startMemoryEngine({ sealRecords: 50, sealIdleMs: 20 }, store, undefined, answers);
  await engine.metastore.createNamespace("n");
});

after(() => engine.stop());

function catchUp(): void {
  file[Symbol.dispose]();
  file = store.snapshot();
}

async function collection(name: string): Promise<void> {
  const fields = [
    { name: "text", kind: "text" },
    { name: "n", kind: "i64" },
  ];
  await engine.collections.create("n", name, parseSchema({ fields, vectors: [{ name: "v", dim: 2 }] }));
}

function write(name: string, ops: readonly object[]): Promise<unknown> {
  const whole = ops.map((op) => ({ condition: undefined, ifVersion: undefined, ...op })) as WriteOp[];
  return engine.documents.write({ namespace: "n", collection: name }, whole, 100);
}

function upsert(id: number, n: number): object {
  const vectors = { v: new Float32Array([n + 1, 1]) };
  return { kind: "upsert", id, source: { text: `wörd w${n % 5}`, n }, vectors, sparseVectors: {} };
}

/** The same query in both ways, but for the time that it took. */
async function both(name: string, body: object): Promise<{ thread: unknown; here: unknown }> {
  const plan = parseQuery({ from: name, ...body }, (each) => engine.queries.schemaOf("n", each));
  const text = Buffer.from(JSON.stringify({ from: name, ...body })).latin1Slice();
  // In one turn, so that both are of one moment.
  const asked = engine.queries.answer("n", { format: "rest", from: name, body: text, token: [] });
  const running = engine.queries.run("n", plan, []);
  const answered = await asked;
  const { took_ms: _, ...here } = JSON.parse(JSON.stringify(await running));
  if (answered === undefined) return { thread: undefined, here };
  const { took_ms: __, ...thread } = JSON.parse(
    typeof answered.body === "string" ? answered.body : Buffer.from(answered.body).toString(),
  );
  assert.deepEqual(answered.token, thread.token);
  return { thread, here };
}

const bodies: readonly object[] = [
  { retrieve: [{ text: { field: "text", query: "w1 w2" } }], limit: 100 },
  { retrieve: [{ text: { field: "text", query: "w1" } }], select: [], limit: 100 },
  { retrieve: [{ vector: { field: "v", query: [3, 1], k: 20 } }], include_vectors: true },
  { filter: { range: { n: { gte: 3 } } }, limit: 100, select: ["n"], consistency: "eventual" },
  { limit: 100, highlight: { fields: ["text"] }, filter: { match: { text: "w3" } } },
];

test("what a thread answers is what the engine answers, wherever the documents are", async () => {
  await collection("both");
  await write("both", [upsert(1, 1)]);
  catchUp();
  await both("both", {});
  const random = new SeededRandom(7);
  const below = (bound: number) => Math.floor(random.next() * bound);
  let answered = 0;
  for (let round = 0; round < 400; round++) {
    const ids = new Set(Array.from({ length: 1 + below(4) }, () => below(12)));
    const ops = Array.from(ids, (id) => (below(3) === 0 ? { kind: "delete", id } : upsert(id, below(50))));
    await write("both", ops);
    if (below(4) === 0) catchUp();
    if (below(25) === 0) await new Promise((resolve) => setTimeout(resolve, 30));
    const { thread, here } = await both("both", bodies[below(bodies.length)]!);
    if (thread === undefined) continue;
    answered++;
    assert.deepEqual(thread, here, `round ${round}`);
  }
  assert(answered > 200, `only ${answered} of 400 were answered by the thread`);
});

test("what a document read has shown already is found and counted, before the index was told of it", async () => {
  await collection("shown");
  await write("shown", [upsert(1, 1)]);
  const { collections, documents, queries } = engine;
  const ref = { namespace: "n", collection: "shown" };
  const now = { token: [], eventual: false };
  await queries.run(
    "n",
    parseQuery({ from: "shown" }, (each) => queries.schemaOf("n", each)),
    [],
  );
  const told = Promise.withResolvers<void>();
  const commit = store.commit.bind(store);
  store.commit = async (ops) => {
    await commit(ops);
    await told.promise;
  };
  const writing = write("shown", [upsert(2, 2)]);
  while ((await documents.get(ref, [2], now)).documents[0] === undefined) await nextTurn();
  store.commit = commit;
  assert.equal(collections.get("n", "shown").backpressure.backlogRecords, 1, "it was not told of the second");
  const text = '{"from":"shown","select":[]}';
  const asked = queries.answer("n", { format: "rest", from: "shown", body: text, token: [] });
  const counted = documents.count(ref, undefined, now);
  await nextTurn();
  told.resolve();
  await writing;
  assert.equal((await counted).count, 2);
  assert.equal(JSON.parse(String((await asked)!.body)).rows.length, 2);
});

test("several queries are answered together, and a search of RPC as the engine answers it", async () => {
  await collection("list");
  await write(
    "list",
    Array.from({ length: 20 }, (_, i) => upsert(i + 1, i)),
  );
  catchUp();
  await both("list", {});
  const alone = await Promise.all(bodies.map(async (body) => (await both("list", body)).here));
  const queries = bodies.map((body) => ({ from: "list", ...body }));
  const body = Buffer.from(JSON.stringify({ queries })).latin1Slice();
  const answered = await engine.queries.answer("n", { format: "rest", from: "list", body, token: [] });
  assert.equal(answered?.token, undefined);
  const { results } = JSON.parse(Buffer.from(answered!.body as Uint8Array).toString());
  assert.deepEqual(
    results.map(({ took_ms: _, ...rest }: { took_ms: number }) => rest),
    alone,
  );
  const request = create(SearchRequestSchema, { namespace: "n", from: "list", limit: 120, includeVectors: true });
  const search = await engine.queries.answer("n", {
    format: "rpc",
    from: "list",
    body: searchText(request),
    token: [],
  });
  const plan = parseQuery(queryJson(request), () => engine.queries.schemaOf("n", "list"));
  const result = await engine.queries.run("n", plan, []);
  const expected = create(SearchResponseSchema, { ...resultMessage(plan, result), token: tokenMessage(result.token) });
  // As it goes out: the bytes that a thread made are written as they are.
  const sent = toBinary(SearchResponseSchema, encodedResponse(search!.body as Uint8Array));
  assert.deepEqual({ ...fromBinary(SearchResponseSchema, sent), tookMs: 0 }, { ...expected, tookMs: 0 });
});

test("a thread that opens a collection answers once the file has what was replayed", async () => {
  await collection("late");
  await write("late", [upsert(1, 1)]);
  // Opened by this one.
  await both("late", {});
  assert.equal((await both("late", {})).thread, undefined);
  assert.deepEqual((await both("late", { select: [] })).thread, (await both("late", { select: [] })).here);
  catchUp();
  const { thread, here } = await both("late", {});
  assert.deepEqual(thread, here);
});

test("a query of another collection than it seems is left to the engine", async () => {
  await collection("one");
  await write("one", [upsert(1, 1)]);
  catchUp();
  await both("one", {});
  const answer = (from: string, body: object) =>
    engine.queries.answer("n", { format: "rest", from, body: JSON.stringify(body), token: [] });
  assert.equal(await answer("one", { from: "both" }), undefined);
  assert.equal(await answer("one", { queries: [{ from: "one" }, { from: "both" }] }), undefined);
  assert.equal(await answer("none", { from: "none" }), undefined);
  assert.equal(
    await engine.queries.answer("n", {
      format: "rest",
      from: "one",
      body: '{"from":"one"}',
      token: [{ stream: 9e9, partition: 0, offset: 1 }],
    }),
    undefined,
  );
  await assert.rejects(answer("one", { from: "one", limit: 0 }), {
    reason: "invalid_argument",
    details: { field: "limit" },
  });
  const stopped = engine.queries.answer(
    "n",
    { format: "rest", from: "one", body: '{"from":"one"}', token: [] },
    AbortSignal.abort(),
  );
  await assert.rejects(stopped, { reason: "deadline_exceeded" });
});
