/**
 * Keeps the figures of the long suites: docs/reliability-figures.json holds what runs did, and the marked sections of
 * docs/reliability.md and of the readme are written from it, so that no figure there is typed by hand.
 *
 *   npm run test:sim -- --record      a run that passed writes its figures, and the page
 *   node scripts/figures.ts           write both pages from the file
 *   node scripts/figures.ts --check   fail when one of them is not in step (part of `npm run check`)
 *
 * A suite calls `report("its name", {what: count, …})` once, at its end and only when it passed. That prints the figures
 * as one JSON line, and with `--record` on the command line (or FIGURES_RECORD=1, which reaches the processes of Node's
 * test runner too) keeps them. The file: {suite: {date, commit, figures: {name: number or text}}}. One record per suite:
 * the last one that was kept, so keep the long form of a run, not a short one.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

export type Figures = Readonly<Record<string, number | string>>;

interface SuiteRecord {
  readonly date: string;
  readonly commit: string;
  readonly figures: Figures;
}

type Records = Readonly<Record<string, SuiteRecord>>;

const store = new URL("../docs/reliability-figures.json", import.meta.url);
/** Each page with what it shows of the records. */
const pages: readonly (readonly [name: string, section: (records: Records) => string])[] = [
  ["docs/reliability.md", sectionFrom],
  ["README.md", summaryFrom],
];
const [begin, end] = ["<!-- figures: written by scripts/figures.ts -->", "<!-- end of figures -->"];

/** Prints what a run that passed did, and keeps it where that was asked for. */
export function report(suite: string, figures: Figures): void {
  process.stdout.write(`${JSON.stringify({ suite, ...figures })}\n`);
  if (!process.argv.includes("--record") && process.env["FIGURES_RECORD"] !== "1") return;
  const made: SuiteRecord = { date: new Date().toISOString().slice(0, 10), commit: commit(), figures };
  const records = { ...read(), [suite]: made };
  const sorted = Object.fromEntries(Object.entries(records).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(store, `${JSON.stringify(sorted, undefined, 2)}\n`);
  for (const [name, section] of pages) writeFileSync(pathOf(name), pageFrom(name, section(sorted)));
}

function pathOf(name: string): URL {
  return new URL(`../${name}`, import.meta.url);
}

function read(): Records {
  return existsSync(store) ? (JSON.parse(readFileSync(store, "utf8")) as Records) : {};
}

/** The commit a run was made of; a plus where the tree had changes besides. */
function commit(): string {
  const git = (...args: string[]) => spawnSync("git", args, { encoding: "utf8" }).stdout?.trim() ?? "";
  const id = git("rev-parse", "--short=10", "HEAD");
  return git("status", "--porcelain", "--untracked-files=no", "--", "src", "test", "scripts") === "" ? id : `${id}+`;
}

export function sectionFrom(records: Records): string {
  const parts = Object.entries(records).map(([suite, { date, commit: of, figures }]) => {
    const rows = Object.entries(figures).map(([what, value]) => [what, valueText(value)] as const);
    const widths = [0, 1].map((i) => Math.max(5, ...rows.map((row) => row[i]!.length)));
    const line = (a: string, b: string) => `| ${a.padEnd(widths[0]!)} | ${b.padEnd(widths[1]!)} |`;
    const table = [
      line(suite, ""),
      line("-".repeat(widths[0]!), "-".repeat(widths[1]!)),
      ...rows.map((row) => line(...row)),
    ];
    return `Run of ${date} at \`${of}\`:\n\n${table.join("\n")}`;
  });
  return parts.length === 0 ? "No run was kept yet." : parts.join("\n\n");
}

function valueText(value: number | string): string {
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
  return value.replaceAll("|", "\\|");
}

/** For the readme: what was done, to how much of it, what went wrong, and the suite that counted. */
const summary = [
  [
    "Power cuts, on a disk that loses what was not synced",
    "power loss",
    "power cuts",
    "lost, torn or written twice",
    "test:power",
  ],
  [
    "Injected faults, in a simulation that can be repeated",
    "simulation",
    "faults, all",
    "seeds that failed, or gave two traces",
    "test:sim",
  ],
  [
    "Operations of concurrent clients under faults",
    "histories",
    "operations answered",
    "answers that no order explains",
    "test:history",
  ],
  [
    "Requests at twice the load that the machine takes, for half an hour",
    "overload",
    "requests sent",
    "answered or refused wrongly",
    "test:overload",
  ],
  [
    "Acknowledged writes looked up after it",
    "overload",
    "appends, events and documents looked up",
    "lost of them",
    "test:overload",
  ],
] as const;

export function summaryFrom(records: Records): string {
  const rows = summary.flatMap(([what, suite, count, faults, script]) => {
    const { figures, date } = records[suite] ?? {};
    if (figures?.[count] === undefined || figures[faults] === undefined) return [];
    return [
      `| ${what} | ${valueText(figures[count])} | ${valueText(figures[faults])} | \`npm run ${script}\`, ${date} |`,
    ];
  });
  return ["| what | how many | failures | command and day |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function pageFrom(name: string, section: string): string {
  const text = readFileSync(pathOf(name), "utf8");
  const [before, rest] = text.split(`${begin}\n`);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${name} has no place for the figures`);
  return `${before}${begin}\n\n${section}\n\n${end}${after}`;
}

function main(): void {
  const records = read();
  for (const [name, section] of pages) {
    const wanted = pageFrom(name, section(records));
    if (process.argv[2] !== "--check") writeFileSync(pathOf(name), wanted);
    else if (wanted !== readFileSync(pathOf(name), "utf8")) {
      console.error(`${name}: the figures are not those of reliability-figures.json; run node scripts/figures.ts`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.main) main();
