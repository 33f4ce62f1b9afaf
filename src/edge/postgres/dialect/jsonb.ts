import { isWrittenNumber, parseWritten } from "../../../engine/exact-json.ts";

const depthMax = 500;

/**
 * The one text of equal JSON values, as Postgres writes a jsonb: keys by their length, then their bytes, and a space after
 * each colon and comma. Undefined for what is no JSON.
 */
export function jsonbText(text: string): string | undefined {
  try {
    return written(parseWritten(text), 0);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function written(value: unknown, depth: number): string {
  if (depth > depthMax) throw new RangeError("too deep");
  if (typeof value !== "object" || value === null || isWrittenNumber(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => written(each, depth + 1)).join(", ")}]`;
  const members = Object.entries(value).map(([key, each]) => ({ key, bytes: Buffer.from(key), each }));
  members.sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes));
  return `{${members.map(({ key, each }) => `${JSON.stringify(key)}: ${written(each, depth + 1)}`).join(", ")}}`;
}
