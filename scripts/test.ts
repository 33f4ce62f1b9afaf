// Runs one suite with Node's test runner.
//
//   npm test                             everything that is quick
//   npm run test:long                    models, restarts, load, the command line, the documents' commands, every format, SQL
//   npm run test:fault                   kills, full disks, damage, slow clients
//   npm run test:console                 the console in Chromium
//   npm run test:cluster                 nodes on a real Kafka, where there is Java
//   npm run test:packages                what people install, from the packed files
//   npm test -- src/composition/config/config.test.ts       these files only
//   npm test -- --test-name-pattern=key  options of the test runner, written with `=`
import { spawn } from "node:child_process";
import { join } from "node:path";
import { suites } from "./suites.ts";

/** Each contract test is two processes, of which one at a time is busy, and many wait for a while: two cores have room for four. */
const filesAtOnce = 4;

interface Run {
  readonly options: readonly string[];
  readonly files: readonly string[];
}

function parse(args: readonly string[]): Run {
  const options = args.filter((each) => each.startsWith("-"));
  const words = args.filter((each) => !each.startsWith("-"));
  const suite = suites[words[0] ?? "quick"];
  const files = suite === undefined ? words : words.slice(1);
  return { options, files: files.length > 0 ? files : (suite ?? []) };
}

/** The longest a file may take. One that hangs is ended and told, and the others go on. */
const fileMs = 600_000;

const { options, files } = parse(process.argv.slice(2));
const limits = [`--test-concurrency=${filesAtOnce}`, `--test-timeout=${fileMs}`];
const runner = ["--test", "--test-reporter=spec", ...limits, ...options, ...files];
// Most of a server's start is the compiling of its code, and the tests start hundreds of servers.
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/compile"), ...process.env };
const child = spawn(process.execPath, runner, { stdio: "inherit", env });
child.once("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 130);
});
