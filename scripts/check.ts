// The static checks: types, lint, format, generated code. Each runs even if one before it failed, so that one run
// tells everything.
import { spawnSync } from "node:child_process";

const checks: readonly (readonly string[])[] = [
  ["tsc", "-p", "."],
  ["biome", "ci", "--error-on-warnings", "."],
  ["node", "scripts/proto.ts", "--check"],
];

let failed = false;
for (const [command, ...args] of checks) {
  const { status } = spawnSync(`node_modules/.bin/${command}`, args, { stdio: "inherit" });
  if (status !== 0) {
    failed = true;
    process.stderr.write(`check: ${command} ${args.join(" ")} failed\n`);
  }
}
process.exitCode = failed ? 1 : 0;
