import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Inputs that are kept because they reach something; one JSON string a line, bytes that are no text as base64. */
function pathOf(target: string): string {
  return fileURLToPath(new URL(`./corpus/${target}.jsonl`, import.meta.url));
}

export function loadCorpus(target: string): Buffer[] {
  const path = pathOf(target);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => parseLine(line));
}

function parseLine(line: string): Buffer {
  const value = JSON.parse(line) as string | { readonly base64: string };
  return typeof value === "string" ? Buffer.from(value) : Buffer.from(value.base64, "base64");
}

function lineOf(input: Buffer): string {
  return JSON.stringify(isUtf8(input) ? input.toString() : { base64: input.toString("base64") });
}

/** `bytesMax` keeps the corpora of all targets together small. */
export function saveCorpus(target: string, inputs: readonly Buffer[], bytesMax = 24 * 1024): number {
  const lines: string[] = [];
  let bytes = 0;
  for (const input of inputs) {
    const line = lineOf(input);
    bytes += line.length + 1;
    if (bytes > bytesMax) continue;
    lines.push(line);
  }
  writeFileSync(pathOf(target), `${lines.join("\n")}\n`);
  return lines.length;
}
