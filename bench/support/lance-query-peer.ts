// LanceDB behind the plainest HTTP server: the same rows, its own indexes, the same bodies.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type * as LanceModule from "@lancedb/lancedb";
import { type DataName, documentsOf } from "./data.ts";
import { hybridK, limit, type QueryKind, type Question, questions } from "./questions.ts";

export interface LanceQueryPlan {
  readonly folder: string;
  readonly data: DataName;
  readonly count: number;
  readonly recallMin: number;
  /** The nearest documents of the first questions, for the recall. */
  readonly nearest: readonly (readonly number[])[];
}

export interface LanceQueryPeer {
  readonly port: number;
  readonly recall: number;
  readonly setting: string;
  /** Loading and indexing. */
  readonly fillMs: number;
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

async function fill({ folder, data, count }: LanceQueryPlan): Promise<LanceModule.Table> {
  const source = documentsOf(data);
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
  if (kind === "text") {
    return table.query().fullTextSearch(words, { columns: "text" }).select(["id", "_score"]).limit(limit).toArray();
  }
  // It refuses to search more narrowly than what it is to refine.
  const width = Math.max(ef, refine * (kind === "vector" ? limit : hybridK));
  const near = table.query().nearestTo(vector).distanceType("cosine").ef(width).refineFactor(refine);
  if (kind === "vector") return near.select(["id", "_distance"]).limit(limit).toArray();
  const both = near.fullTextSearch(words, { columns: "text" }).rerank(reranker).select(["id"]).limit(hybridK);
  return (kind === "filtered" ? both.where(`tag = '${tag}'`) : both).toArray();
}

interface Body {
  readonly retrieve: readonly {
    readonly vector?: { readonly query: readonly number[] };
    readonly text?: { readonly query: string };
  }[];
  readonly filter?: { readonly term: { readonly tag: string } };
}

function questionOf({ retrieve, filter }: Body): { kind: QueryKind; question: Question } {
  const near = retrieve.find(({ vector }) => vector !== undefined)?.vector;
  const text = retrieve.find(({ text }) => text !== undefined)?.text;
  const kind =
    filter !== undefined ? "filtered" : near === undefined ? "text" : text === undefined ? "vector" : "hybrid";
  return {
    kind,
    question: {
      vector: Float32Array.from(near?.query ?? []),
      words: text?.query ?? "",
      tag: filter?.term.tag ?? "",
    },
  };
}

function serve(answer: (body: Body) => Promise<unknown[]>): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const rows = await answer(JSON.parse(Buffer.concat(chunks).toString()) as Body);
      const text = JSON.stringify({ rows: rows.slice(0, limit) }, (_, value) =>
        typeof value === "bigint" ? Number(value) : value,
      );
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
      response.end(text);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function run(plan: LanceQueryPlan): Promise<LanceQueryPeer> {
  const startedMs = performance.now();
  const table = await fill(plan);
  const fillMs = performance.now() - startedMs;
  const reranker = await lance.rerankers.RRFReranker.create();
  const asked = questions(documentsOf(plan.data), plan.count, plan.nearest.length);
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
  const chosen = accuracy;
  const port = await serve((body) => {
    const { kind, question } = questionOf(body);
    return ask(table, reranker, kind, question, chosen);
  });
  return { port, recall, setting: `ef ${chosen.ef}, refine ${chosen.refine}`, fillMs };
}

process.once("message", async (plan: LanceQueryPlan) => process.send!(await run(plan)));
process.once("disconnect", () => process.exit(0));
