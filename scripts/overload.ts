// Twice the load that the machine can take, for a while, and what became of the server.
//
//   npm run test:overload                   30 minutes
//   npm run test:overload -- --minutes 5
//   npm run test:overload -- --seconds 12   a short run, as CI does it
//   npm run test:overload -- --json FILE    the figures as JSON too
//   npm run test:overload -- --record       keep the figures of the run (scripts/figures.ts)
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ClassCounts } from "../test/overload/messages.ts";
import { type OverloadFigures, runOverload } from "../test/overload/run.ts";
import { type Figures, report } from "./figures.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    seconds: { type: "string" },
    json: { type: "string" },
    record: { type: "boolean" },
  },
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
  say(`others used ${(figures.othersShare * 100).toFixed(0)} % of the machine during the load`);
  for (const each of figures.notJudged) say(`not judged on a shared machine: ${each}`);
  for (const failure of failures) say(`FAILED: ${failure}`);
}

function kept({ counts, pests, health, verified, anonymousMiB, ...figures }: OverloadFigures): Figures {
  const classes = Object.values(counts);
  const sum = (of: (each: ClassCounts) => number) => classes.reduce((all, each) => all + of(each), 0);
  const refusals = (each: ClassCounts) => Object.values(each.refused).reduce((all, count) => all + count, 0);
  return {
    "seconds of load": figures.loadSeconds,
    "requests a second that the machine took before": figures.capacityPerSecond,
    "requests a second that were offered": figures.offeredPerSecond,
    "requests sent": sum(({ sent }) => sent),
    answered: sum(({ ok }) => ok),
    "refused with the right code": sum(refusals),
    "answered or refused wrongly": sum(({ wrong }) => wrong),
    "not sent, for every connection was in use": sum(({ dropped }) => dropped),
    "idle connections beside them": pests.idleMax,
    "memory at the most, MiB": anonymousMiB.peak,
    "bound of memory, MiB": anonymousMiB.bound,
    "health checks": health.asked,
    "longest health check without waiting for a processor, ms": Math.round(health.servedMaxMs),
    "seconds until the latency was back": Math.round(figures.recoverySeconds * 10) / 10,
    "appends, events and documents looked up": verified.appends + verified.events + verified.documents,
    "lost of them": 0,
    "share of the machine that other programs took": `${Math.round(figures.othersShare * 100)} %`,
    "not judged for it": figures.notJudged.length,
  };
}

const loadMs = milliseconds();
const figures = await runOverload({ loadMs, rampStepMs: Math.min(5_000, loadMs / 8), say });
tell(figures);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
if (figures.failures.length === 0) report("overload", kept(figures));
else process.exitCode = 1;
