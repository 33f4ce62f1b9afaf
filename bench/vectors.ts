// Recall and speed of vector search on one thread, without and with filters: clustered vectors, 100,000 × 128 unless
// `--rows=` says otherwise. Not against another engine: that is the benchmark of whole queries.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsearchGraphs } from "../src/adapter/vectors/graphs.ts";
import { Bitset } from "../src/engine/search/index/bitset.ts";
import { searchAnn } from "../src/engine/search/vector/ann.ts";
import { Clusters, generator, vectorSegment } from "../test/support/vectors.ts";

const dim = 128;
const queryCount = 200;
const shares = [1, 0.5, 0.05, 0.005];

export async function benchVectors(argv: readonly string[]): Promise<void> {
  const rowCount = Number(argv.find((each) => each.startsWith("--rows="))?.slice(7) ?? 100_000);
  const clusters = new Clusters(dim, 1_000, 1);
  const segment = vectorSegment(clusters.many(rowCount), "cosine");
  const queries = clusters.many(queryCount);
  const folder = await mkdtemp(join(tmpdir(), "bench-vectors-"));
  try {
    const graphs = new UsearchGraphs();
    const path = join(folder, "graph");
    const start = performance.now();
    const cpu = process.cpuUsage();
    const { bytes } = await graphs.build(path, { rows: segment.vectors("v")!.data, dim, distance: "cosine" });
    const builtMs = performance.now() - start;
    print(`build ${(builtMs / 1000).toFixed(1)} s, ${(process.cpuUsage(cpu).user / 1e6).toFixed(1)} s of CPU`);
    print(`graph ${(bytes / 1e6).toFixed(1)} MB, vectors ${((rowCount * dim * 4) / 1e6).toFixed(1)} MB`);
    const opening = performance.now();
    const graph = await graphs.open(path);
    print(`open with its checksum ${(performance.now() - opening).toFixed(1)} ms`);
    const random = generator(2);
    for (const share of shares) {
      const filter = new Bitset(rowCount);
      for (let doc = 0; doc < rowCount; doc++) if (random() < share) filter.add(doc);
      const filters = share === 1 ? undefined : [filter];
      for (const k of [10, 50]) {
        const exact = timed(queries, (query) =>
          searchAnn([segment], [], "v", query, k, { filters, exact: true }).map(({ id }) => id),
        );
        const ann = timed(queries, (query) =>
          searchAnn([segment], [graph], "v", query, k, { filters }).map(({ id }) => id),
        );
        let found = 0;
        let wanted = 0;
        exact.results.forEach((ids, q) => {
          const known = new Set(ids);
          wanted += ids.length;
          found += ann.results[q]!.filter((id) => known.has(id)).length;
        });
        const recall = (found / wanted).toFixed(4);
        print(`filter ${share * 100} %, k ${k}: recall ${recall}, queries/s ${ann.rate}, exact ${exact.rate}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Rates by the clock and, for a machine that is shared, by the time the processor spent. */
function timed<T>(queries: readonly Float32Array[], run: (query: Float32Array) => T): { results: T[]; rate: string } {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const results = queries.map(run);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = (spentMs: number) => Math.round((queries.length * 1000) / spentMs);
  return { results, rate: `${perSecond(ms)} (by CPU ${perSecond((user + system) / 1000)})` };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
