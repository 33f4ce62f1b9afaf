// Looks at what we depend on and at how we are run: known weaknesses of the packages that are shipped, and the sandbox
// of the systemd unit. What can't be asked here is skipped, and said to be.
//
//   npm run audit
import { spawnSync } from "node:child_process";

/** Of 10, where 10 is no sandbox at all; systemd calls up to 2 "OK". */
const exposureMax = 2;

interface Outcome {
  readonly name: string;
  readonly state: "ok" | "skipped" | "failed";
  readonly detail: string;
}

interface AuditReport {
  readonly error?: { readonly summary?: string };
  readonly message?: string;
  readonly metadata?: { readonly vulnerabilities: Readonly<Record<string, number>> };
}

function dependencies(): Outcome {
  const name = "dependencies";
  const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], { encoding: "utf8", timeout: 120_000 });
  let report: AuditReport;
  try {
    report = JSON.parse(stdout) as AuditReport;
  } catch {
    return { name, state: "skipped", detail: "npm gave no report" };
  }
  const { metadata } = report;
  if (metadata === undefined) {
    const why = report.error?.summary || report.message || "no answer";
    return { name, state: "skipped", detail: `the registry does not answer audits here (${why})` };
  }
  const { total = 0, high = 0, critical = 0 } = metadata.vulnerabilities;
  const detail = `${total} known weaknesses, ${high} high and ${critical} critical`;
  return { name, state: high + critical > 0 ? "failed" : "ok", detail };
}

function unit(): Outcome {
  const name = "systemd unit";
  const args = ["security", "--offline=true", `--threshold=${exposureMax * 10}`, "deploy/native-engine.service"];
  const { status, stdout, error } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  if (error !== undefined) return { name, state: "skipped", detail: "there is no systemd-analyze here" };
  const exposure = /exposure level[^:]*: ([\d.]+)/.exec(stdout)?.[1];
  if (exposure === undefined) return { name, state: "skipped", detail: "systemd-analyze is too old to look offline" };
  return { name, state: status === 0 ? "ok" : "failed", detail: `exposure ${exposure} of 10, at most ${exposureMax}` };
}

const outcomes = [dependencies(), unit()];
for (const { name, state, detail } of outcomes) process.stdout.write(`${name}: ${state}: ${detail}\n`);
process.exitCode = outcomes.some(({ state }) => state === "failed") ? 1 : 0;
