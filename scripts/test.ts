// Runs node's test runner over one suite: `npm test` (everything quick) or `npm run test:fault` (longer, by name).
import { spawn } from "node:child_process";

const suites: Readonly<Record<string, readonly string[]>> = {
  quick: ["src/**/*.test.ts", "test/{contract,port,wire,house,model,search}/**/*.test.ts"],
  fault: ["test/fault/**/*.test.ts"],
};

const [first, ...rest] = process.argv.slice(2);
const named = first !== undefined && first in suites;
const globs = suites[named ? first : "quick"]!;
const extra = named ? rest : process.argv.slice(2);
const child = spawn(
  process.execPath,
  [
    "--test",
    "--test-reporter=spec",
    ...extra.filter((each) => each.startsWith("-")),
    ...(extra.some((each) => !each.startsWith("-")) ? extra.filter((each) => !each.startsWith("-")) : globs),
  ],
  {
    stdio: "inherit",
  },
);
child.once("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 130);
});
