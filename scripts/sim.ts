// Runs the simulation: the whole engine in one process, under faults that a seed chooses. Each seed is run twice and
// must give the same trace.
//
//   npm run test:sim                    the fixed set of seeds, then new ones for SIM_NEW_SECONDS (60; 0 for none)
//   npm run test:sim -- --seed 17       one seed, with the steps that led to a failure
//   npm run test:sim -- --seeds 1000    this many, from --from (1)
//   npm run test:sim -- --minutes 5     as many as fit into the time
//   npm run test:sim -- --steps 500     steps of the clients in each run
//   npm run test:sim -- --record        keep the figures of the run (scripts/figures.ts)
import { parseArgs } from "node:util";
import { type RunReport, runSeed } from "../test/sim/simulation.ts";
import { Totals } from "../test/sim/totals.ts";
import { report } from "./figures.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    minutes: { type: "string" },
    steps: { type: "string" },
    trace: { type: "string" },
    record: { type: "boolean" },
  },
});

function integer(name: Exclude<keyof typeof values, "record">, otherwise: number): number {
  const given = values[name];
  if (given === undefined) return otherwise;
  if (!/^\d+$/.test(given)) throw new Error(`--${name} must be a whole number`);
  return Number(given);
}

const fixedSeeds = 60;
const newSecondsDefault = 60;
const from = integer("seed", integer("from", 1));
const minutes = integer("minutes", 0);
const seeds = values.seed !== undefined ? 1 : integer("seeds", minutes > 0 ? Number.MAX_SAFE_INTEGER : fixedSeeds);
const steps = integer("steps", 240);
const endMs = minutes > 0 ? performance.now() + minutes * 60_000 : Infinity;
const traceLinesMax = integer("trace", 80);
const isFixedSet =
  values.seed === undefined && values.seeds === undefined && values.from === undefined && minutes === 0;

function explain({ seed, failure }: RunReport): void {
  const { error, tail } = failure!;
  process.stdout.write(`${tail.join("\n")}\n\nseed ${seed} failed: ${(error as Error).stack}\n`);
  const { cause } = error as Error;
  if (cause !== undefined) process.stdout.write(`caused by ${(cause as Error).stack}\n`);
}

function replayCommand(seed: number): string {
  return `npm run test:sim -- --seed ${seed} --steps ${steps}`;
}

/** New ones every second; a failing one is named, and runs again exactly. */
function newSeed(): number {
  return Math.floor(Date.now() / 1000);
}

function newSeconds(): number {
  const given = process.env["SIM_NEW_SECONDS"] ?? String(newSecondsDefault);
  if (!/^\d+$/.test(given)) throw new Error("SIM_NEW_SECONDS must be a whole number");
  return Number(given);
}

/** Whether the seed passed, twice and with one trace. */
async function passes(seed: number, totals: Totals): Promise<boolean> {
  const first = await runSeed({ seed, steps, traceLinesMax });
  const second = await runSeed({ seed, steps, traceLinesMax });
  totals.add(first);
  if (first.failure !== undefined) explain(first);
  const isSame = first.trace === second.trace;
  if (!isSame) process.stdout.write(`seed ${seed} gave two traces: ${first.trace}, ${second.trace}\n`);
  if (first.failure === undefined && isSame) return true;
  process.stdout.write(`replay it with: ${replayCommand(seed)}\n`);
  process.exitCode = 1;
  return false;
}

/** Seeds one after another until one fails, there are no more or the time is over. */
async function run(start: number, count: number, untilMs: number, totals: Totals): Promise<boolean> {
  for (let seed = start; seed < start + count && performance.now() < untilMs; seed++) {
    if (!(await passes(seed, totals))) return false;
  }
  return true;
}

const totals = new Totals();
if ((await run(from, seeds, endMs, totals)) && isFixedSet && newSeconds() > 0) {
  const start = newSeed();
  process.stdout.write(`new seeds from ${start} on, for ${newSeconds()} s\n`);
  await run(start, Number.MAX_SAFE_INTEGER, performance.now() + newSeconds() * 1000, totals);
}
process.stdout.write(totals.text());
if (process.exitCode === undefined) report("simulation", totals.figures());
