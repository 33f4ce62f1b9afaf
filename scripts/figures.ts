/**
 * Keeps the figures of the long suites and of the benchmarks: docs/reliability-figures.json and
 * docs/benchmark-figures.json hold what runs did, and the marked sections of docs/reliability.md and of the readme are
 * written from them, so that no figure there is typed by hand.
 *
 *   npm run test:sim -- --record      a run that passed writes its figures, and the pages
 *   npm run bench -- query --record   the same with the ratios of a benchmark
 *   node scripts/figures.ts           write the pages from the files
 *   node scripts/figures.ts --check   fail when one of them is not in step (part of `npm run check`)
 *
 * A suite calls `report("its name", {what: count, …})` once, at its end and only when it passed. That prints the figures
 * as one JSON line, and with `--record` on the command line (or FIGURES_RECORD=1, which reaches the processes of Node's
 * test runner too) keeps them. A benchmark calls `keepRatios` with its table. One record per suite and per title of a
 * table: the last one that was kept, so keep the long form of a run, not a short one.
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

interface Ratio {
  readonly what: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: number;
}

interface BenchRecord {
  readonly date: string;
  readonly commit: string;
  readonly command: string;
  readonly rows: readonly Ratio[];
}

type BenchRecords = Readonly<Record<string, BenchRecord>>;

const suiteStore = "docs/reliability-figures.json";
const benchStore = "docs/benchmark-figures.json";
/** Each marked section with what is written there. */
const sections: readonly (readonly [page: string, mark: string, text: () => string])[] = [
  ["docs/reliability.md", "figures", () => sectionFrom(read(suiteStore))],
  ["README.md", "figures", () => summaryFrom(read(suiteStore))],
  ["README.md", "ratios", () => ratiosFrom(read(benchStore))],
];
const isRecorded = process.argv.includes("--record") || process.env["FIGURES_RECORD"] === "1";

/** Prints what a run that passed did, and keeps it where that was asked for. */
export function report(suite: string, figures: Figures): void {
  process.stdout.write(`${JSON.stringify({ suite, ...figures })}\n`);
  if (isRecorded) keep(suiteStore, suite, { ...origin(), figures });
}

/** Keeps the table of a benchmark where that was asked for, with the command that made it. */
export function keepRatios(title: string, rows: readonly Ratio[]): void {
  if (!isRecorded) return;
  const words = process.argv.slice(2).filter((each) => each !== "--record");
  const kept = rows
    .filter(({ ratio }) => Number.isFinite(ratio))
    .map(({ what, ours, peer, ratio }) => ({ what, ours, peer, ratio: Number(ratio.toPrecision(3)) }));
  keep(benchStore, title, { ...origin(), command: `npm run bench -- ${words.join(" ")}`, rows: kept });
}

function keep(store: string, name: string, made: SuiteRecord | BenchRecord): void {
  const records = { ...read<Readonly<Record<string, unknown>>>(store), [name]: made };
  const sorted = Object.fromEntries(Object.entries(records).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(pathOf(store), `${JSON.stringify(sorted, undefined, 2)}\n`);
  for (const section of sections) writeFileSync(pathOf(section[0]), pageWith(...section));
}

function pathOf(name: string): URL {
  return new URL(`../${name}`, import.meta.url);
}

function read<T>(store: string): T {
  return JSON.parse(existsSync(pathOf(store)) ? readFileSync(pathOf(store), "utf8") : "{}") as T;
}

function origin(): { readonly date: string; readonly commit: string } {
  return { date: new Date().toISOString().slice(0, 10), commit: commit() };
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

/** For the readme: which rows of which benchmark's table, and what to call them there. */
const shownRatios: readonly (readonly [title: string, what: string, shown: string])[] = [
  [
    "streams",
    "append of one 200-byte record, 64 connections",
    "Durable appends of one record, against a bare Node HTTP server that stores nothing",
  ],
  ["streams", "append of 100 records, 16 connections", "The same in batches of 100 records"],
  [
    "streams",
    "appends over 10,000 partitions against one partition, 64 connections",
    "Appends over 10,000 partitions, against one partition",
  ],
  [
    "commit-log",
    "batches of 100 records against pipelines of 100 XADD, appendfsync always, 16 connections",
    "Durable batches of 100 records, against Redis streams with `appendfsync always`",
  ],
  ["events", "structured event against a plain record, 64 connections", "Deduplicated events, against plain records"],
  [
    "query, 60,000 documents",
    "vector, limit 10, 16 clients, against LanceDB behind HTTP",
    "Vector queries, against LanceDB",
  ],
  [
    "query, 60,000 documents",
    "text, limit 10, 16 clients, against LanceDB behind HTTP",
    "Text queries, against LanceDB",
  ],
  [
    "query, 60,000 documents",
    "hybrid, k 50 each, RRF, limit 10, 16 clients, against LanceDB behind HTTP",
    "Hybrid queries, against LanceDB",
  ],
  [
    "SQL over 100000 documents",
    "select 1 over the Postgres wire",
    "`SELECT 1` over the Postgres wire, against PostgreSQL",
  ],
  [
    "SQL over 100000 documents",
    "select 1 + 1, through the engine",
    "`SELECT 1 + 1`, which the SQL engine runs, against PostgreSQL",
  ],
  ["SQL over 100000 documents", "1000000 rows over Flight SQL", "A million rows over Flight SQL, against REST"],
];

export function ratiosFrom(records: BenchRecords): string {
  const rows = shownRatios.flatMap(([title, what, shown]) => {
    const { command, date, rows: measured } = records[title] ?? {};
    const row = measured?.find((each) => each.what === what);
    if (row === undefined) return [];
    return [`| ${shown} | ${row.ours} | ${row.peer} | **${row.ratio}** | \`${command}\`, ${date} |`];
  });
  if (rows.length === 0) return "No run was kept yet.";
  return [
    "| what | this server | the other | ratio | command and day |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function pageWith(page: string, mark: string, text: () => string): string {
  const [begin, end] = [`<!-- ${mark}: written by scripts/figures.ts -->`, `<!-- end of ${mark} -->`];
  const [before, rest] = readFileSync(pathOf(page), "utf8").split(`${begin}\n`);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the ${mark}`);
  return `${before}${begin}\n\n${text()}\n\n${end}${after}`;
}

function main(): void {
  for (const section of sections) {
    const [page, mark] = section;
    const wanted = pageWith(...section);
    if (process.argv[2] !== "--check") writeFileSync(pathOf(page), wanted);
    else if (wanted !== readFileSync(pathOf(page), "utf8")) {
      console.error(`${page}: the ${mark} are not those that runs have kept; run node scripts/figures.ts`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.main) main();
