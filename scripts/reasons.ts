/**
 * Writes the table of reasons in docs/rpc.md from the tables that the edges use.
 *
 *   node scripts/reasons.ts           write it
 *   node scripts/reasons.ts --check   fail when the page is not in step
 */
import { readFileSync, writeFileSync } from "node:fs";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { hintFor } from "../src/edge/rpc/hints.ts";
import { type Reason, reasons } from "../src/engine/errors.ts";

const page = new URL("../docs/rpc.md", import.meta.url);
const [begin, end] = ["<!-- reasons: written by scripts/reasons.ts -->", "<!-- end of reasons -->"];

function table(): string {
  const head = ["reason", "Connect code", "status over Connect", "REST", "metadata", "what to do"];
  const rows = (Object.keys(reasons) as Reason[]).map((reason) => {
    const { rpc, http, rest, metadata } = reasons[reason];
    const code = codeFromString(rpc);
    if (code === undefined) throw new Error(`${rpc} is no code of Connect`);
    return [
      `\`${reason}\``,
      `\`${rpc}\``,
      String(codeToHttpStatus(code)),
      `${http} \`${rest}\``,
      metadata.length === 0 ? "" : metadata.map((key) => `\`${key}\``).join(", "),
      hintFor(reason, "en"),
    ];
  });
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

const text = readFileSync(page, "utf8");
const [before, rest] = text.split(`${begin}\n`);
const after = rest?.split(end)[1];
if (before === undefined || after === undefined) throw new Error("docs/rpc.md has no place for the table");
const wanted = `${before}${begin}\n\n${table()}\n\n${end}${after}`;
if (process.argv[2] !== "--check") writeFileSync(page, wanted);
else if (wanted !== text) {
  console.error("docs/rpc.md: the reasons are not those of src/engine/errors.ts; run node scripts/reasons.ts");
  process.exitCode = 1;
}
