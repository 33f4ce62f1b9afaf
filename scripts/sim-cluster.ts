// Runs the simulation of a cluster: nodes, their shared log and clocks under faults that a seed chooses; then, with the same seeds, the whole
// engine on such a cluster, with the checks of all kinds of data.
//
//   npm run test:sim-cluster                   1,000 seeds
//   npm run test:sim-cluster -- --seeds 50     this many, from --from (1)
//   npm run test:sim-cluster -- --seed 17      one seed, with what led to a failure
import { parseArgs } from "node:util";
import { runDataSeed } from "../test/sim/cluster/data.ts";
import { runClusterSeed } from "../test/sim/cluster/simulation.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, seeds: { type: "string" }, from: { type: "string" } },
});
const from = Number(values.seed ?? values.from ?? 1);
const count = values.seed === undefined ? Number(values.seeds ?? 1_000) : 1;

/** Adds up what the seeds report, until one fails. */
async function run<Counts extends Record<string, number>>(
  what: string,
  one: (seed: number) => Promise<{ counts: Counts; error: Error | undefined; lines: readonly string[] }>,
): Promise<void> {
  const sums: Record<string, number> = {};
  for (let seed = from; seed < from + count; seed++) {
    const { counts, error, lines } = await one(seed);
    for (const [name, value] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + value;
    if (error === undefined) continue;
    process.stdout.write(`${lines.slice(-80).join("\n")}\n\n${what}, seed ${seed} failed: ${error.stack}\n`);
    process.exitCode = 1;
    break;
  }
  process.stdout.write(`${what}, seeds ${from} to ${from + count - 1}: ${JSON.stringify(sums)}\n`);
}

await run("the log", async (seed) => {
  const { failure, lines, counts } = await runClusterSeed({ seed });
  return { counts, error: failure, lines };
});
await run("all kinds of data", async (seed) => {
  const { failure, steps, epochs, followed, answers } = await runDataSeed(seed);
  const answered = [...answers].reduce((sum, [name, times]) => sum + (name.endsWith(" ok") ? times : 0), 0);
  const counts = { steps, answered, epochs, followed };
  return { counts, error: failure?.error as Error | undefined, lines: failure?.tail ?? [] };
});
