/**
 * Writes the tables of settings in docs/configuration.md from those that the server reads.
 *
 *   node scripts/settings.ts           write them
 *   node scripts/settings.ts --check   fail when the page is not in step
 */
import { readFileSync, writeFileSync } from "node:fs";
import { settingsTable } from "../src/composition/config/config.ts";

const page = new URL("../docs/configuration.md", import.meta.url);
const [begin, end] = ["<!-- settings: written by scripts/settings.ts -->", "<!-- end of settings -->"];

function table(): string {
  const rows = settingsTable().map(({ flag, env, value, help }) => {
    const told = help.replaceAll("|", "\\|");
    return `| \`${env}\` | ${flag === undefined ? "" : `\`--${flag}\``} | ${value.replaceAll("|", "\\|")} | ${told} |`;
  });
  return ["| variable | flag and key in the file | value | what it sets |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

const text = readFileSync(page, "utf8");
const [before, rest] = text.split(`${begin}\n`);
const after = rest?.split(end)[1];
if (before === undefined || after === undefined) throw new Error("docs/configuration.md has no place for the table");
const wanted = `${before}${begin}\n\n${table()}\n\n${end}${after}`;
if (process.argv[2] !== "--check") writeFileSync(page, wanted);
else if (wanted !== text) {
  console.error(
    "docs/configuration.md: the settings are not those of src/composition/config/settings.ts; run node scripts/settings.ts",
  );
  process.exitCode = 1;
}
