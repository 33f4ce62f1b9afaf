// Twice the load that the machine can take, for a while, and what became of the server.
//
//   npm run test:overload                   30 minutes
//   npm run test:overload -- --minutes 5
//   npm run test:overload -- --seconds 12   a short run, as CI does it
//   npm run test:overload -- --json FILE    the figures as JSON too
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ClassCounts } from "../test/overload/messages.ts";
import { type OverloadFigures, runOverload } from "../test/overload/run.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string" }, seconds: { type: "string" }, json: { type: "string" } },
});

function milliseconds(): number {
  const given = values.seconds ?? values.minutes ?? "30";
  const amount = Number(given);
  if (!(amount > 0)) throw new Error("--minutes and --seconds must be a number above 0");
  return amount * (values.seconds === undefined ? 60_000 : 1_000);
}

const say = (line: string) => process.stdout.write(`${line}\n`);

function row(name: string, { sent, ok, refused, dropped, wrong, p50Ms, p99Ms }: ClassCounts): string {
  const codes = Object.entries(refused).map(([code, count]) => `${count} ${code}`);
  const times = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
  const told = codes.length === 0 ? "none refused" : `refused ${codes.join(", ")}`;
  return `${name.padEnd(22)} ${ok} of ${sent} answered, ${told}, ${dropped} not sent, ${wrong} wrong; ${times}`;
}

function tell(figures: OverloadFigures): void {
  const { counts, pests, health, verified, anonymousMiB, failures } = figures;
  for (const [name, each] of Object.entries({ ...counts, ...pests.counts }).sort()) say(row(name, each));
  say(
    `capacity ${figures.capacityPerSecond} requests/s, offered ${figures.offeredPerSecond}/s for ${figures.loadSeconds} s`,
  );
  say(
    `${pests.idleMax} idle connections at once, ${pests.slowReaders} slow readers, ${pests.slowWriters} slow writers`,
  );
  say(
    `health: ${health.asked} asked, ${health.failed.length} failed; p50 ${health.p50Ms.toFixed(1)} ms, p99 ${health.p99Ms.toFixed(1)} ms, at most ${health.maxMs.toFixed(0)} ms (${health.servedMaxMs.toFixed(0)} ms without waiting for a processor)`,
  );
  say(
    `memory: ${anonymousMiB.before} MiB before, ${anonymousMiB.peak} at the most, bound ${anonymousMiB.bound}, ${anonymousMiB.after} after`,
  );
  say(
    `kept: ${verified.appends} appends, ${verified.events} events, ${verified.documents} documents checked; ${figures.counted} records counted by links`,
  );
  say(
    `recovery: ${figures.recoverySeconds.toFixed(1)} s; a round takes ${figures.recoveredMs.toFixed(1)} ms, ${figures.idleMs.toFixed(1)} before`,
  );
  say(`told by the server: ${JSON.stringify(figures.told)}`);
  for (const failure of failures) say(`FAILED: ${failure}`);
}

const loadMs = milliseconds();
const figures = await runOverload({ loadMs, rampStepMs: Math.min(5_000, loadMs / 8), say });
tell(figures);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
process.exitCode = figures.failures.length === 0 ? 0 : 1;
