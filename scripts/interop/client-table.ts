import { readFile, writeFile } from "node:fs/promises";
import { type ClientRun, type Feature, features } from "./clients.ts";

const begin = "<!-- clients: written by npm run test:interop-sql -- --record -->";
const end = "<!-- end of clients -->";

const titles: Readonly<Record<Feature, string>> = {
  connect: "connects",
  introspect: "introspects",
  types: "types",
  parameters: "parameters",
  cursors: "cursors",
  copy: "COPY",
  cancel: "cancels",
  errors: "errors",
  pool: "pool",
  tls: "TLS",
};

/** The clients of a run, and what of it works: ✓ it does, ✗ it does not, nothing where it was not asked. */
export function clientTable(runs: readonly ClientRun[]): string {
  const shown = features.filter((feature) => runs.some(({ tried }) => tried.has(feature)));
  const rows = runs
    .filter(({ skipped }) => skipped === undefined)
    .map(({ name, language, version, tried }) => {
      const cells = shown.map((feature) => (tried.has(feature) ? (tried.get(feature) === undefined ? "✓" : "✗") : ""));
      return [name, language, version, ...cells];
    });
  const heads = ["client", "language", "version", ...shown.map((feature) => titles[feature])];
  return [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Puts the table of a run in place of the last one. */
export async function recordTable(path: string, runs: readonly ClientRun[]): Promise<void> {
  const page = await readFile(path, "utf8");
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to === -1) throw new Error(`${path} has no place for the table of clients`);
  await writeFile(path, `${page.slice(0, from + begin.length)}\n${clientTable(runs)}\n${page.slice(to)}`);
}
