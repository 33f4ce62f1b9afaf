// Feeds every door with bad input: parsers and decoders guided by coverage, the wires by sockets.
//
//   npm run test:fuzz                            every target for a moment, with the same seeds each time
//   npm run test:fuzz -- --seconds 300           each target for so long, with a new seed
//   npm run test:fuzz -- --target filters,http1  these only
//   npm run test:fuzz -- --target filters --seed 7 --seconds 60
//   npm run test:fuzz -- --target filters --replay FILE
//   --inputs N ends a target after so many inputs; --keep puts inputs that reach something new into the corpus;
//   --record keeps what a run that found nothing has tried, for docs/reliability.md
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type RunReport, replay, runTarget } from "../test/fuzz/run.ts";
import type { Target, TargetContext } from "../test/fuzz/target.ts";
import { findTargets, targetNames } from "../test/fuzz/targets.ts";
import { FuzzServer } from "../test/fuzz/wire/server.ts";

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    inputs: { type: "string" },
    replay: { type: "string" },
    keep: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
});

const shortSeconds = 2;
const shortSeed = 1;

function integer(name: "seconds" | "seed" | "inputs", otherwise: number): number {
  const given = values[name];
  if (given === undefined) return otherwise;
  if (!/^\d+$/.test(given)) throw new Error(`--${name} must be a whole number`);
  return Number(given);
}

const isShort = values.seconds === undefined && values.inputs === undefined;
const seconds = integer("seconds", isShort ? shortSeconds : Number.MAX_SAFE_INTEGER);
// The long form looks for what the short one has not seen.
const seed = integer("seed", isShort ? shortSeed : Math.floor(Math.random() * 2 ** 31));
const inputsMax = integer("inputs", Number.MAX_SAFE_INTEGER);

function explain({ target, finding }: RunReport): void {
  const { error, file, input } = finding!;
  process.stdout.write(`${target}: ${error instanceof Error ? error.stack : String(error)}\n`);
  const { cause } = error as Error;
  if (cause !== undefined) process.stdout.write(`caused by ${cause instanceof Error ? cause.stack : String(cause)}\n`);
  process.stdout.write(`input (${input.length} bytes): ${JSON.stringify(input.toString("latin1").slice(0, 2_000))}\n`);
  process.stdout.write(`seed ${seed}; replay it with: npm run test:fuzz -- --target ${target} --replay ${file}\n`);
}

function line(report: RunReport): string {
  const guided = report.blocks === undefined ? "" : `, ${report.blocks} blocks reached, corpus of ${report.corpus}`;
  return `${report.target}: ${report.inputs} inputs in ${report.seconds.toFixed(1)} s${guided}\n`;
}

async function runAll(targets: readonly Target[], context: TargetContext): Promise<void> {
  let inputs = 0;
  const tried: Record<string, number> = {};
  for (const target of targets) {
    const report = await runTarget(target, context, { seed, seconds, inputsMax, keep: values.keep });
    inputs += report.inputs;
    tried[`inputs tried: ${target.name}`] = report.inputs;
    process.stdout.write(line(report));
    if (report.finding === undefined) continue;
    explain(report);
    process.exitCode = 1;
  }
  process.stdout.write(`seed ${seed}: ${inputs} inputs over ${targets.length} targets\n`);
  if (values.record && process.exitCode === undefined) await record({ ...tried, "inputs tried, all": inputs });
}

/** The figures of all long suites are kept by one script. */
async function record(figures: Readonly<Record<string, number>>): Promise<void> {
  const script = new URL("./figures.ts", import.meta.url);
  if (!existsSync(script)) throw new Error("there is no scripts/figures.ts that keeps figures");
  const { report } = (await import(script.href)) as { report(suite: string, kept: typeof figures): void };
  report("Bad input", figures);
}

let server: Promise<FuzzServer> | undefined;
const context: TargetContext = {
  server: () => {
    server ??= FuzzServer.start();
    return server;
  },
};
const names = values.target === undefined ? targetNames : values.target.split(",");
const targets = await findTargets(names);
try {
  if (values.replay === undefined) await runAll(targets, context);
  else await replay(targets[0]!, context, readFileSync(values.replay));
} finally {
  await (await server)?.[Symbol.asyncDispose]();
}
