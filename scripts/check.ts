// The static checks: types, lint and format, generated code, secrets, the house rules. Each runs even if one before it failed,
// so that one run tells everything.
import { spawnSync } from "node:child_process";

interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const checks: readonly Check[] = [
  { name: "types", command: "node_modules/.bin/tsc", args: ["-p", "."] },
  { name: "types of the console", command: "node_modules/.bin/tsc", args: ["-p", "src/console"] },
  { name: "lint and format", command: "node_modules/.bin/biome", args: ["ci", "--error-on-warnings", "."] },
  { name: "generated code", command: process.execPath, args: ["scripts/proto.ts", "--check"] },
  { name: "compiled codec", command: process.execPath, args: ["scripts/wasm.ts", "--check"] },
  { name: "reasons in the docs", command: process.execPath, args: ["scripts/reasons.ts", "--check"] },
  { name: "settings in the docs", command: process.execPath, args: ["scripts/settings.ts", "--check"] },
  { name: "figures in the docs", command: process.execPath, args: ["scripts/figures.ts", "--check"] },
  { name: "secrets", command: process.execPath, args: ["scripts/secrets.ts"] },
  { name: "house rules", command: process.execPath, args: ["--test", "--test-reporter=dot", "test/house/*.test.ts"] },
];

const failed = checks.filter(({ command, args }) => spawnSync(command, args, { stdio: "inherit" }).status !== 0);
for (const { name } of failed) process.stderr.write(`check: ${name} failed\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
