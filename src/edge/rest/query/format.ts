import type { AnswerBody, QueryFormat } from "../../../engine/retrieval/format.ts";
import { holdsQueries, parseQueries, parseQuery } from "../../../engine/retrieval/parse.ts";
import type { Steps } from "../../../engine/turns.ts";
import { parseJson } from "../http/body.ts";
import { answerParts, isLong, type QueryAnswer } from "./text.ts";

/** Queries as REST has them. */
export const restQueries: QueryFormat = {
  parse(body, schemaOf) {
    const json = parseJson(Buffer.from(body, "latin1"));
    const isList = holdsQueries(json);
    return {
      plans: isList ? parseQueries(json, schemaOf) : [parseQuery(json, schemaOf)],
      isList,
      encode: (results) => encode(isList ? { results } : results[0]!),
    };
  },
};

function* encode(answer: QueryAnswer): Steps<AnswerBody> {
  if (!isLong(answer)) {
    const json = JSON.stringify(answer);
    return Buffer.byteLength(json) === json.length ? json : bytesOf([json]);
  }
  const parts: string[] = [];
  for (const part of answerParts(answer)) {
    parts.push(part);
    yield;
  }
  return bytesOf(parts);
}

function bytesOf(parts: readonly string[]): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let at = 0;
  for (const part of parts) at += bytes.write(part, at);
  return new Uint8Array(bytes.buffer as ArrayBuffer);
}

const fromKey = Buffer.from('"from"');
/** What follows the key, in so many bytes at most. */
const fromValue = /^\s*:\s*"(?:collections\.)?([A-Za-z0-9][A-Za-z0-9._-]*)"/;
const fromValueBytesMax = 200;
const backslash = 0x5c;

/**
 * What a query seems to call its collection, without reading all of it: whoever reads it checks that. In JSON the key in
 * its quotes is a whole string, unless the first quote is one within a string.
 */
export function seemingFrom(body: Buffer): string | undefined {
  const at = body.indexOf(fromKey);
  if (at < 1 || body[at - 1] === backslash) return undefined;
  const start = at + fromKey.length;
  return fromValue.exec(body.latin1Slice(start, Math.min(body.length, start + fromValueBytesMax)))?.[1];
}
