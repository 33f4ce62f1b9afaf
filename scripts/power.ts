// Cuts the power of a machine under load, many times: the server's process is killed, and its data folder is rolled back
// to what a disk may hold that lost what was not synced (test/power/). Then everything acknowledged must be there. At the end
// a control, on a machine whose syncs do nothing, must be found to lose data.
//
//   npm run test:power                    100 rounds
//   npm run test:power -- --rounds 5      this many
//   npm run test:power -- --seed 17       the choices of a run; the timing is the machine's own
//   npm run test:power -- --record        keep the figures of the run (scripts/figures.ts)
import { parseArgs } from "node:util";
import { PowerViolation, runPower } from "../test/power/run.ts";
import { report } from "./figures.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string" }, seed: { type: "string" }, record: { type: "boolean" } },
});
const rounds = Number(values.rounds ?? 100);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
/** Power cuts after which the control must have lost something. */
const controlRounds = 6;

async function control(): Promise<boolean> {
  try {
    await runPower({ rounds: controlRounds, seed, ignoresSyncs: true });
    return false;
  } catch (error) {
    if (!(error instanceof PowerViolation)) throw error;
    process.stdout.write(`control: loss found, as it must be: ${error.message.split("\n")[0]}\n`);
    return true;
  }
}

process.stdout.write(`seed ${seed}\n`);
const figures = await runPower({ rounds, seed, log: (line) => process.stdout.write(`${line}\n`) });
if (figures === undefined) process.stdout.write("power: needs a C compiler (cc); nothing was run\n");
else if (await control()) report("power loss", { ...figures, "lost, torn or written twice": 0 });
else {
  process.stderr.write("power: a machine whose syncs do nothing was not found to lose anything\n");
  process.exitCode = 1;
}
