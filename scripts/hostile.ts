// What a reader of one namespace may try, beside the work of others.
//
//   npm run test:hostile                       20,000 statements
//   npm run test:hostile -- --statements 500   fewer
//   npm run test:hostile -- --seed 7           others
import { parseArgs } from "node:util";
import { runHostile } from "../test/hostile/run.ts";

const { values } = parseArgs({ options: { statements: { type: "string" }, seed: { type: "string" } } });
const say = (line: string) => void process.stdout.write(`${line}\n`);
const figures = await runHostile({
  statements: Number(values.statements ?? 20_000),
  seed: Number(values.seed ?? 1),
  say,
});
say(JSON.stringify(figures, undefined, 2));
