/**
 * Keeps the figures of the long suites: docs/reliability-figures.json holds what runs did, and the marked section of
 * docs/reliability.md is written from it, so that no figure on the page is typed by hand.
 *
 *   npm run test:sim -- --record      a run that passed writes its figures, and the page
 *   node scripts/figures.ts           write the page from the file
 *   node scripts/figures.ts --check   fail when the page is not in step (part of `npm run check`)
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
const page = new URL("../docs/reliability.md", import.meta.url);
const [begin, end] = ["<!-- figures: written by scripts/figures.ts -->", "<!-- end of figures -->"];

/** Prints what a run that passed did, and keeps it where that was asked for. */
export function report(suite: string, figures: Figures): void {
  process.stdout.write(`${JSON.stringify({ suite, ...figures })}\n`);
  if (!process.argv.includes("--record") && process.env["FIGURES_RECORD"] !== "1") return;
  const made: SuiteRecord = { date: new Date().toISOString().slice(0, 10), commit: commit(), figures };
  const records = { ...read(), [suite]: made };
  const sorted = Object.fromEntries(Object.entries(records).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(store, `${JSON.stringify(sorted, undefined, 2)}\n`);
  writeFileSync(page, pageFrom(sorted));
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

function pageFrom(records: Records): string {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(`${begin}\n`);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error("docs/reliability.md has no place for the figures");
  return `${before}${begin}\n\n${sectionFrom(records)}\n\n${end}${after}`;
}

function main(): void {
  const wanted = pageFrom(read());
  if (process.argv[2] !== "--check") {
    writeFileSync(page, wanted);
    return;
  }
  if (wanted === readFileSync(page, "utf8")) return;
  console.error(
    "docs/reliability.md: the figures are not those of reliability-figures.json; run node scripts/figures.ts",
  );
  process.exitCode = 1;
}

if (import.meta.main) main();
