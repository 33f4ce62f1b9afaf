import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type AnswerBody, Declined, type QueryFormat } from "../../engine/retrieval/format.ts";
import { parseQuery, type SchemaOf } from "../../engine/retrieval/parse.ts";
import type { QueryPlan } from "../../engine/retrieval/plan.ts";
import type { QueryResult } from "../../engine/retrieval/result.ts";
import type { Steps } from "../../engine/turns.ts";
import {
  type SearchRequest,
  SearchRequestSchema,
  type SearchResponse,
  SearchResponseSchema,
} from "../../gen/service/collection/v1/query_pb.ts";
import { binaryOptions } from "./message-parts.ts";
import { queryJson, resultMessage } from "./query-message.ts";
import { tokenMessage } from "./request.ts";

/** Rows that are encoded in one step. */
const rowsAtOnceMax = 100;

/** Searches as binary messages. A message of rows and one of all else, one after the other, are one message. */
export const rpcQueries: QueryFormat = {
  parse(body, schemaOf) {
    const plan = parsePlan(body, schemaOf);
    return { plans: [plan], isList: false, encode: ([result]) => encode(plan, result!) };
  },
};

/** What is wrong with a search is told by the listener's thread, in the caller's protocol. */
function parsePlan(body: string, schemaOf: SchemaOf): QueryPlan {
  try {
    const request = fromBinary(SearchRequestSchema, Buffer.from(body, "latin1"), binaryOptions);
    return parseQuery(queryJson(request), schemaOf);
  } catch {
    throw new Declined();
  }
}

function* encode(plan: QueryPlan, { rows = [], ...rest }: QueryResult): Steps<AnswerBody> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < rows.length; from += rowsAtOnceMax) {
    const { rows: messages } = resultMessage(plan, { ...rest, rows: rows.slice(from, from + rowsAtOnceMax) });
    parts.push(bytesOf({ rows: messages }));
    yield;
  }
  parts.push(bytesOf({ ...resultMessage(plan, rest), token: tokenMessage(rest.token) }));
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function bytesOf(response: MessageInitShape<typeof SearchResponseSchema>): Uint8Array<ArrayBuffer> {
  return toBinary(SearchResponseSchema, create(SearchResponseSchema, response));
}

/** The bytes of a search, a character for each. */
export function searchText(request: SearchRequest): string {
  return Buffer.from(toBinary(SearchRequestSchema, request)).latin1Slice();
}

/**
 * An answer whose bytes are known, as a message that is written as these bytes: the library writes a field that it does not
 * know as it was read. So the listener's thread neither reads nor writes rows.
 */
export function encodedResponse(bytes: Uint8Array): SearchResponse {
  const response = create(SearchResponseSchema);
  if (bytes.length === 0) return response;
  const reader = new BinaryReader(bytes);
  const [no, wireType] = reader.tag();
  response.$unknown = [{ no, wireType, data: bytes.subarray(reader.pos) }];
  return response;
}
