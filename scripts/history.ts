// Records what concurrent clients do and are told while the server is killed, stopped, given a wrong clock and a full disk,
// and searches for one order of the operations that explains it all (test/history/). At the end a control, a proxy that
// answers some reads with old answers, must be found out.
//
//   npm run test:history                   10 rounds of 15 seconds and one without faults, each on a new data folder
//   npm run test:history -- --rounds 3     this many; --seconds N for the length of each
//   npm run test:history -- --seed 17      the choices of a run; the timing is the machine's own
//   npm run test:history -- --check FILE   look again at a history that a failed run has kept
//   npm run test:history -- --record       keep the figures of the run (scripts/figures.ts)
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { History } from "../test/history/history.ts";
import { NotLinearizable } from "../test/history/linearize.ts";
import { runHistory } from "../test/history/run.ts";
import { report } from "./figures.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    check: { type: "string" },
    record: { type: "boolean" },
  },
});
const rounds = Number(values.rounds ?? 10);
const seconds = Number(values.seconds ?? 15);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));

/** A slow machine answers so little in a few seconds that no old answer may be among it: more is asked then. */
const controlRounds = 5;

async function control(): Promise<boolean> {
  try {
    for (let round = 0; round < controlRounds; round++)
      await runHistory({ seed: seed + round, seconds: 3, isStale: true });
    return false;
  } catch (error) {
    if (!(error instanceof NotLinearizable)) throw error;
    process.stdout.write(`control: the old answers were found out, as they must be: ${error.message.split("\n")[0]}\n`);
    return true;
  }
}

if (values.check !== undefined) {
  const states = History.from(readFileSync(values.check, "utf8")).check();
  process.stdout.write(`explained after ${states} states\n`);
  process.exit();
}
process.stdout.write(`seed ${seed}\n`);
const totals: Record<string, number> = { rounds: rounds + 1 };
// The last round has no faults: a server that is up answers so much more that rarer interleavings come about.
for (let round = 0; round <= rounds; round++) {
  const figures = await runHistory({ seed: seed + round, seconds, isCalm: round === rounds });
  process.stdout.write(`${JSON.stringify({ round, ...figures })}\n`);
  for (const [what, count] of Object.entries(figures)) totals[what] = (totals[what] ?? 0) + count;
}
if (await control()) report("histories", { ...totals, "answers that no order explains": 0 });
else {
  process.stderr.write("history: old answers were not found out\n");
  process.exitCode = 1;
}
