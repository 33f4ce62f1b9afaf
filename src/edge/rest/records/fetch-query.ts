import { invalid } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import type { FetchCommand } from "../../../engine/stream/streams.ts";
import { consistency, count, type Schema } from "../schemas.ts";

export interface FetchQuery {
  readonly offset?: number;
  readonly timestamp_ms?: number;
  readonly max_bytes?: number;
  readonly max_wait_ms?: number;
}

/** What is over its cap is lowered to it, however large. */
const uncapped: Schema = { type: "integer", minimum: 0 };

export const fetchQuery: Readonly<Record<string, Schema>> = {
  offset: { ...count, description: "First offset to read" },
  max_bytes: {
    ...uncapped,
    default: limits.fetchBytesDefault,
    description: `Upper bound of the answer's size; lowered to ${limits.fetchBytesMax}`,
  },
  max_wait_ms: {
    ...uncapped,
    default: 0,
    description: `How long to wait when no records are ready; lowered to ${limits.fetchWaitMsMax}`,
  },
  consistency,
};

/** Where a fetch starts: an offset, or a time in its place. */
export function parseFrom(query: FetchQuery): FetchCommand["from"] {
  if (query.timestamp_ms !== undefined) {
    if (query.offset !== undefined) throw invalid("timestamp_ms", "goes in place of offset, not beside it");
    return { timestampMs: query.timestamp_ms };
  }
  if (query.offset === undefined) throw invalid("offset", "is required");
  return { offset: query.offset };
}
