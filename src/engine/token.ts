import { invalid } from "./errors.ts";
import { limits } from "./limits.ts";
import { refuseUnknown } from "./unknown-fields.ts";

/** Names the offset of the last record written to a partition. A reader that has applied it sees the write. */
export interface TokenEntry {
  readonly stream: number;
  readonly partition: number;
  readonly offset: number;
}

export type ConsistencyToken = readonly TokenEntry[];

export const emptyToken: ConsistencyToken = [];

/** The token of a log of one partition, up to an offset. */
export function tokenAt(stream: number, next: number): ConsistencyToken {
  return next === 0 ? emptyToken : [{ stream, partition: 0, offset: next - 1 }];
}

/** The header value of a token: its compact JSON array. */
export function formatToken(token: ConsistencyToken): string {
  let text = "[";
  for (const entry of token) {
    if (text.length > 1) text += ",";
    text += `{"stream":${entry.stream},"partition":${entry.partition},"offset":${entry.offset}}`;
  }
  return `${text}]`;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Parses a token; `field` is where it came from, for the error. */
export function parseToken(field: string, text: string): ConsistencyToken {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(field, "must be a JSON array of {stream, partition, offset}");
  }
  if (!Array.isArray(value)) throw invalid(field, "must be a JSON array of {stream, partition, offset}");
  if (value.length > limits.tokenEntriesMax) throw invalid(field, `has more than ${limits.tokenEntriesMax} entries`);
  return value.map((entry: unknown, i) => {
    if (typeof entry !== "object" || entry === null) throw invalid(`${field}[${i}]`, "must be an object");
    refuseUnknown(`${field}[${i}]`, entry, ["stream", "partition", "offset"]);
    const { stream, partition, offset } = entry as Record<string, unknown>;
    if (!isCount(stream) || stream < 1) throw invalid(`${field}[${i}].stream`, "must be a positive integer");
    if (!isCount(partition)) throw invalid(`${field}[${i}].partition`, "must be an integer from 0");
    if (!isCount(offset)) throw invalid(`${field}[${i}].offset`, "must be an integer from 0");
    // JSON has a zero below zero too.
    return { stream, partition: partition + 0, offset: offset + 0 };
  });
}

/** The union of two tokens, keeping the higher offset of each partition. */
export function mergeTokens(a: ConsistencyToken, b: ConsistencyToken): ConsistencyToken {
  const entries = new Map<string, TokenEntry>();
  for (const entry of [...a, ...b]) {
    const key = `${entry.stream}/${entry.partition}`;
    const known = entries.get(key);
    if (known === undefined || known.offset < entry.offset) entries.set(key, entry);
  }
  return [...entries.values()];
}
