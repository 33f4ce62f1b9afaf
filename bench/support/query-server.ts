import { ask } from "../../test/support/http.ts";
import { ServerProcess } from "../../test/support/process.ts";
import type { Documents } from "./documents.ts";
import { hybridK, limit, type QueryKind, type Question } from "./questions.ts";

export const queryPath = "/v1/namespaces/bench/query";
export const recallMin = 0.95;
const documentsPath = "/v1/namespaces/bench/collections/docs/documents";
const batchDocuments = 500;

const schemaOf = (dim: number) => ({
  fields: [
    { name: "text", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim, distance: "cosine" }],
});

export function startServer(dataDir: string, flags: readonly string[] = []): Promise<ServerProcess> {
  // As `npm start` and the command do it.
  return ServerProcess.start({ dataDir, flags });
}

export async function made(url: string, body: object): Promise<void> {
  const { status, text } = await ask(url, { body });
  if (status >= 300) throw new Error(text);
}

export async function createCollection({ url }: ServerProcess, { dim }: Documents): Promise<void> {
  await made(`${url}/v1/namespaces`, { name: "bench" });
  await made(`${url}/v1/namespaces/bench/collections`, { name: "docs", schema: schemaOf(dim) });
}

export function writeBody(source: Documents, from: number, to: number): string {
  const ops = Array.from({ length: to - from }, (_, i) => {
    const { id, text, tag, n, vector } = source.document(from + i);
    return { upsert: { id, source: { text, tag, n }, vectors: { v: Array.from(vector) } } };
  });
  return JSON.stringify({ ops });
}

/** Returns whether it was taken: the server may be behind with its indexes. */
export async function send({ url }: ServerProcess, body: string): Promise<boolean> {
  const { status, text } = await ask(`${url}${documentsPath}`, { body });
  if (status !== 200 && status !== 429) throw new Error(text);
  return status === 200;
}

export async function write(server: ServerProcess, source: Documents, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += batchDocuments) {
    const body = writeBody(source, at, Math.min(to, at + batchDocuments));
    while (!(await send(server, body))) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export interface QueryOptions {
  readonly ef?: number | undefined;
  readonly explain?: boolean;
}

/** Ten rows of id and score: what a query costs without the size of its documents. */
export function queryBody(
  kind: QueryKind,
  { vector, words, tag }: Question,
  { ef, explain }: QueryOptions = {},
): object {
  const k = kind === "vector" || kind === "text" ? limit : hybridK;
  const near = { vector: { field: "v", query: Array.from(vector), k, ...(ef === undefined ? {} : { ef }) } };
  const text = { text: { field: "text", query: words, k } };
  const retrieve = kind === "vector" ? [near] : kind === "text" ? [text] : [text, near];
  return {
    from: "docs",
    retrieve,
    ...(retrieve.length > 1 ? { fuse: { method: "rrf" } } : {}),
    ...(kind === "filtered" ? { filter: { term: { tag } } } : {}),
    select: [],
    limit,
    ...(explain ? { explain } : {}),
  };
}

/** The nearest documents of questions, by comparing with all. */
export function nearestOf(source: Documents, count: number, asked: readonly Question[]): number[][] {
  const unit = (vector: Float32Array) => {
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const queries = asked.map(({ vector }) => unit(vector));
  const best = queries.map(() => [] as { id: number; score: number }[]);
  for (let id = 0; id < count; id++) {
    const vector = unit(source.document(id).vector);
    for (const [q, query] of queries.entries()) {
      let score = 0;
      for (let i = 0; i < vector.length; i++) score += query[i]! * vector[i]!;
      const list = best[q]!;
      if (list.length === limit && score <= list[limit - 1]!.score) continue;
      list.push({ id, score });
      list.sort((a, b) => b.score - a.score);
      list.length = Math.min(list.length, limit);
    }
  }
  return best.map((list) => list.map(({ id }) => id));
}

/** Recall@10 of the first questions at the default setting and, where it is too low, at the least `ef` that gives enough. */
export async function recallOf(
  { url }: ServerProcess,
  asked: readonly Question[],
  nearest: readonly (readonly number[])[],
): Promise<{ recall: number; ef: number | undefined }> {
  let recall = 0;
  let ef: number | undefined;
  for (ef of [undefined, 100, 200, 400]) {
    let found = 0;
    for (const [i, ids] of nearest.entries()) {
      const { json } = await ask(`${url}${queryPath}`, { body: queryBody("vector", asked[i]!, { ef }) });
      found += (json.rows as { _id: number }[]).filter(({ _id }) => ids.includes(_id)).length;
    }
    recall = found / nearest.reduce((sum, ids) => sum + ids.length, 0);
    if (recall >= recallMin) break;
  }
  return { recall, ef };
}

/** What a search takes by itself, without the way to it: the middle of what `explain` tells. */
export async function searchMs({ url }: ServerProcess, kind: QueryKind, asked: readonly Question[]): Promise<number> {
  const times: number[] = [];
  for (const each of asked) {
    const { json } = await ask(`${url}${queryPath}`, { body: queryBody(kind, each, { explain: true }) });
    const { statistics, filters, retrievers, ranking } = json.stats.times_ms as StageTimes;
    times.push(statistics + filters + retrievers.reduce((sum, ms) => sum + ms, 0) + ranking);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

interface StageTimes {
  readonly statistics: number;
  readonly filters: number;
  readonly retrievers: readonly number[];
  readonly ranking: number;
}
