// LanceDB in a process of its own: the same rows, its own indexes, the same questions with as many in flight.
import { createRequire } from "node:module";
import type * as LanceModule from "@lancedb/lancedb";
import { DocumentSource } from "./documents.ts";
import type { LoadResult } from "./load-plan.ts";
import { hybridK, limit, type QueryKind, type Question, queryKinds, questions, shown } from "./questions.ts";

export interface LanceQueryPlan {
  readonly folder: string;
  readonly seed: number;
  readonly count: number;
  readonly questions: number;
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  readonly recallMin: number;
  /** The nearest documents of the first questions, for the recall. */
  readonly nearest: readonly (readonly number[])[];
}

export interface LanceQueryResult {
  readonly recall: number;
  readonly setting: string;
  readonly results: Readonly<Record<QueryKind, LoadResult>>;
}

const rowsPerAdd = 5_000;

interface Accuracy {
  readonly ef: number;
  readonly refine: number;
}

/** Cheapest first; the first with enough recall is the one to compare with. */
const accuracies: readonly Accuracy[] = [
  { ef: 64, refine: 1 },
  { ef: 64, refine: 2 },
  { ef: 128, refine: 2 },
  { ef: 200, refine: 4 },
  { ef: 400, refine: 8 },
  { ef: 800, refine: 16 },
];

const lance = createRequire(import.meta.url)("@lancedb/lancedb") as typeof LanceModule;

async function fill({ folder, seed, count }: LanceQueryPlan): Promise<LanceModule.Table> {
  const source = new DocumentSource(seed);
  const connection = await lance.connect(folder);
  let table: LanceModule.Table | undefined;
  for (let from = 0; from < count; from += rowsPerAdd) {
    const rows = Array.from({ length: Math.min(rowsPerAdd, count - from) }, (_, i) => {
      const { vector, ...rest } = source.document(from + i);
      return { ...rest, vector: Array.from(vector) };
    });
    if (table === undefined) table = await connection.createTable("t", rows);
    else await table.add(rows);
  }
  const { Index } = lance;
  // Without positions, which no question here needs: with them its index of 100,000 documents can't be read back.
  const words = { withPosition: false, stem: false, removeStopWords: false, asciiFolding: false };
  await table!.createIndex("vector", { config: Index.hnswSq({ distanceType: "cosine", numPartitions: 1 }) });
  await table!.createIndex("text", { config: Index.fts(words) });
  await table!.createIndex("tag", { config: Index.bitmap() });
  // One fragment and indexes over all of it: its best state.
  await table!.optimize();
  return table!;
}

type Reranker = Awaited<ReturnType<typeof LanceModule.rerankers.RRFReranker.create>>;

function ask(
  table: LanceModule.Table,
  reranker: Reranker,
  kind: QueryKind,
  { vector, words, tag }: Question,
  { ef, refine }: Accuracy,
): Promise<unknown[]> {
  const columns = ["id", ...shown];
  if (kind === "text") {
    return table
      .query()
      .fullTextSearch(words, { columns: "text" })
      .select([...columns, "_score"])
      .limit(limit)
      .toArray();
  }
  // It refuses to search more narrowly than what it is to refine.
  const width = Math.max(ef, refine * (kind === "vector" ? limit : hybridK));
  const near = table.query().nearestTo(vector).distanceType("cosine").ef(width).refineFactor(refine);
  if (kind === "vector")
    return near
      .select([...columns, "_distance"])
      .limit(limit)
      .toArray();
  const both = near.fullTextSearch(words, { columns: "text" }).rerank(reranker).select(columns).limit(hybridK);
  return (kind === "filtered" ? both.where(`tag = '${tag}'`) : both).toArray();
}

function quantile(sorted: Float64Array, q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

async function measure(plan: LanceQueryPlan, one: (i: number) => Promise<unknown>): Promise<LoadResult> {
  const startMs = performance.now() + plan.warmUpMs;
  const endMs = startMs + plan.durationMs;
  const times: number[] = [];
  const loops = Array.from({ length: plan.inFlight }, async (_, at) => {
    for (let i = at * 7; performance.now() < endMs; i++) {
      const sentMs = performance.now();
      await one(i);
      const nowMs = performance.now();
      if (nowMs >= startMs && nowMs < endMs) times.push(nowMs - sentMs);
    }
  });
  await Promise.all(loops);
  const sorted = Float64Array.from(times).sort();
  return {
    requests: times.length,
    perSecond: (times.length * 1000) / plan.durationMs,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    bytes: 0,
  };
}

async function run(plan: LanceQueryPlan): Promise<LanceQueryResult> {
  const table = await fill(plan);
  const reranker = await lance.rerankers.RRFReranker.create();
  const asked = questions(new DocumentSource(plan.seed), plan.count, plan.questions);
  let accuracy = accuracies[0]!;
  let recall = 0;
  for (accuracy of accuracies) {
    let found = 0;
    for (const [i, ids] of plan.nearest.entries()) {
      const rows = (await ask(table, reranker, "vector", asked[i]!, accuracy)) as { id: number | bigint }[];
      found += rows.filter(({ id }) => ids.includes(Number(id))).length;
    }
    recall = found / plan.nearest.reduce((sum, ids) => sum + ids.length, 0);
    if (recall >= plan.recallMin) break;
  }
  const results: Partial<Record<QueryKind, LoadResult>> = {};
  for (const kind of queryKinds) {
    results[kind] = await measure(plan, (i) => ask(table, reranker, kind, asked[i % asked.length]!, accuracy));
  }
  return {
    recall,
    setting: `ef ${accuracy.ef}, refine ${accuracy.refine}`,
    results: results as Record<QueryKind, LoadResult>,
  };
}

process.once("message", async (plan: LanceQueryPlan) => {
  process.send!(await run(plan), () => process.exit(0));
});
