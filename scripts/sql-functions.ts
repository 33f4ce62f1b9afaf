// Writes the list of functions that SQL statements may call, those of the bundled DuckDB without the refused ones, and the
// table of the refused ones in docs/sql.md.
//
//   node scripts/sql-functions.ts        after an update of DuckDB, or of refused-functions.ts
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { refusedFunctions, refusedPrefixes } from "../src/engine/sql/service/plan/refused-functions.ts";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
const kinds = { scalar: "'scalar', 'macro'", aggregate: "'aggregate'" } as const;
const refused = new Set(Object.values(refusedFunctions).flatMap((names) => names.split(" ")));

async function namesOf(types: string): Promise<string[]> {
  const query = `SELECT DISTINCT lower(function_name) AS name FROM duckdb_functions() WHERE function_type IN (${types}) ORDER BY name`;
  const names = (await connection.runAndReadAll(query)).getRows().map(([name]) => String(name));
  return names.filter((name) => !refused.has(name) && !refusedPrefixes.some((prefix) => name.startsWith(prefix)));
}

/** Lines of at most so many characters: a name each would make a file that nobody reads. */
function wrapped(names: readonly string[]): string[] {
  const lines: string[] = [""];
  for (const name of names) {
    if (lines.at(-1)!.length + name.length > 100) lines.push("");
    lines[lines.length - 1] += `${name} `;
  }
  return lines.map((line, i) => JSON.stringify(i === lines.length - 1 ? line.trimEnd() : line));
}

const lines = [
  "// Made by scripts/sql-functions.ts from the bundled DuckDB; what it leaves out is reviewed in refused-functions.ts.",
];
for (const [kind, types] of Object.entries(kinds)) {
  const text = wrapped(await namesOf(types)).join(" +\n  ");
  lines.push("", `export const ${kind}Functions: readonly string[] = (`, `  ${text}`, ').split(" ");');
}
writeFileSync(
  join(import.meta.dirname, "../src/engine/sql/service/plan/allowed-functions.ts"),
  `${lines.join("\n")}\n`,
);

const page = join(import.meta.dirname, "../docs/sql.md");
const [begin, end] = [
  "<!-- refused functions: written by scripts/sql-functions.ts -->",
  "<!-- end of refused functions -->",
];
const code = (names: string) => names.replaceAll(/\S+/g, "`$&`");
const rows = Object.entries(refusedFunctions).map(([why, names]) => `| ${why} | ${code(names)} |`);
rows.push(`| the same: every name with this prefix | ${code(refusedPrefixes.join(" "))} |`);
const table = ["| why | functions |", "| --- | --- |", ...rows].join("\n");
const [before, rest] = readFileSync(page, "utf8").split(begin);
writeFileSync(page, `${before}${begin}\n\n${table}\n\n${end}${rest!.split(end)[1]}`);
