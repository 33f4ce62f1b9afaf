// Runs the simulation of a cluster: nodes, their shared log and clocks under faults that a seed chooses.
//
//   npm run test:sim-cluster                   1,000 seeds
//   npm run test:sim-cluster -- --seeds 50     this many, from --from (1)
//   npm run test:sim-cluster -- --seed 17      one seed, with what led to a failure
import { parseArgs } from "node:util";
import { runClusterSeed } from "../test/sim/cluster/simulation.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, seeds: { type: "string" }, from: { type: "string" } },
});
const from = Number(values.seed ?? values.from ?? 1);
const count = values.seed === undefined ? Number(values.seeds ?? 1_000) : 1;
const sums = { acknowledged: 0, refused: 0, unknown: 0, reads: 0, epochs: 0 };
for (let seed = from; seed < from + count; seed++) {
  const { failure, lines, counts } = await runClusterSeed({ seed });
  for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
  if (failure === undefined) continue;
  process.stdout.write(`${lines.slice(-80).join("\n")}\n\nseed ${seed} failed: ${failure.stack}\n`);
  process.exitCode = 1;
  break;
}
process.stdout.write(`seeds ${from} to ${from + count - 1}: ${JSON.stringify(sums)}\n`);
