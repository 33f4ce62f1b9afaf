import { SourceMap } from "node:module";
import type { Bundle } from "../../../port/bundler.ts";

/** Lines before the bundle's own in what a sandbox runs. */
const linesBefore = 2;
const framesMax = 10;
const frame = /^\s*at (?:(.*?) \()?bundle\.js:(\d+):(\d+)\)?$/;

/** A stack with the places of the sources; frames of the harness are left out. */
export function mappedStack(stack: string, { code, map }: Bundle): string {
  const [head = "", ...lines] = stack.split("\n");
  // The harness follows the bundle.
  const lastRow = 1 + code.split("\n").length;
  const sources = map === "" ? undefined : new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0]);
  const shown: string[] = [];
  for (const line of lines) {
    const [, name = "", row = "", column = ""] = frame.exec(line) ?? [];
    if (row === "" || Number(row) >= lastRow) continue;
    const entry = sources?.findEntry(Number(row) - 1 - linesBefore, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) continue;
    const file = entry.originalSource.replace(/^.*module:/, "");
    shown.push(
      `    at ${name === "" ? "" : `${name} `}(${file}:${entry.originalLine + 1}:${entry.originalColumn + 1})`,
    );
    if (shown.length >= framesMax) break;
  }
  return [head, ...shown].join("\n");
}
