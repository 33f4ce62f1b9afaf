// The peer: LanceDB itself, in a process of its own, with the same rows and the indexes that serve the same questions.
import { createRequire } from "node:module";
import type * as LanceModule from "@lancedb/lancedb";
import { DocumentSource, tags } from "./documents.ts";

export interface LancePlan {
  readonly folder: string;
  readonly seed: number;
  readonly count: number;
  readonly countMs: number;
}

export interface LanceResult {
  readonly addMs: number;
  readonly indexMs: number;
  readonly countsPerSecond: number;
}

const rowsPerAdd = 5_000;

async function run({ folder, seed, count, countMs }: LancePlan): Promise<LanceResult> {
  const lance = createRequire(import.meta.url)("@lancedb/lancedb") as typeof LanceModule;
  const source = new DocumentSource(seed);
  const rows = (from: number) =>
    Array.from({ length: Math.min(rowsPerAdd, count - from) }, (_, i) => {
      const { id, text, tag, n, vector } = source.document(from + i);
      return { id, text, tag, n, vector: Array.from(vector) };
    });
  const connection = await lance.connect(folder);
  let addMs = 0;
  let table: LanceModule.Table | undefined;
  for (let from = 0; from < count; from += rowsPerAdd) {
    const piece = rows(from);
    const startedMs = performance.now();
    if (table === undefined) table = await connection.createTable("t", piece);
    else await table.add(piece);
    addMs += performance.now() - startedMs;
  }
  const startedMs = performance.now();
  const { Index } = lance;
  await table!.createIndex("vector", { config: Index.hnswSq({ distanceType: "cosine", numPartitions: 1 }) });
  await table!.createIndex("text", { config: Index.fts({ withPosition: true }) });
  await table!.createIndex("tag", { config: Index.bitmap() });
  const indexMs = performance.now() - startedMs;
  const untilMs = performance.now() + countMs;
  let counts = 0;
  while (performance.now() < untilMs) await table!.countRows(`tag = 'tag-${counts++ % tags}'`);
  return { addMs, indexMs, countsPerSecond: (counts * 1000) / countMs };
}

process.once("message", async (plan: LancePlan) => {
  process.send!(await run(plan), () => process.exit(0));
});
