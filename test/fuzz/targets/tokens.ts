import { isDeepStrictEqual } from "node:util";
import { formatTicket, parseTicket } from "../../../src/edge/flight/ticket.ts";
import { formatCursor, formatPageToken, parseCursor, parsePageToken } from "../../../src/engine/collection/cursor.ts";
import { parseName } from "../../../src/engine/ids.ts";
import { parsePointer, resolvePointer } from "../../../src/engine/json-pointer.ts";
import { parseDate } from "../../../src/engine/schema/date.ts";
import { formatSchema, parseSchema, readSchema } from "../../../src/engine/schema/schema-parse.ts";
import { parseIdempotencyKey } from "../../../src/engine/stream/idempotency.ts";
import { formatToken, mergeTokens, parseToken } from "../../../src/engine/token.ts";
import { parseAddress } from "../../../src/listener/address.ts";
import { parseFastHead } from "../../../src/listener/fast-head.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

type Check = (text: string) => void;

function same(found: unknown, wanted: unknown, how: string): void {
  must(isDeepStrictEqual(found, wanted), how, () => [wanted, found]);
}

/** The first byte chooses one; the rest is its text. */
const checks: readonly Check[] = [
  (text) => {
    const token = refusing(() => parseToken("token", text), "invalid_argument");
    if (token === undefined) return;
    same(parseToken("token", formatToken(token)), token, "a token is read otherwise");
    must(mergeTokens(token, token).length <= token.length, "a token grows by itself");
  },
  (text) => {
    const cursor = refusing(() => parseCursor("cursor", text), "invalid_argument");
    if (cursor === undefined) return;
    must(Number.isSafeInteger(cursor.pin) && Number.isSafeInteger(cursor.afterId), "a cursor of unsafe numbers");
    same(parseCursor("cursor", formatCursor(cursor)), cursor, "a cursor is read otherwise");
  },
  (text) => {
    const after = refusing(() => parsePageToken(text), "invalid_argument");
    if (after !== undefined) same(formatPageToken(after), text, "a page token is written otherwise");
  },
  (text) => {
    const ticket = refusing(() => parseTicket(Buffer.from(text)), "invalid_argument");
    if (ticket !== undefined) must(formatTicket(ticket).length > 0, "a ticket can't be written");
  },
  (text) => void refusing(() => parseName("name", text), "invalid_argument"),
  (text) => void refusing(() => parseIdempotencyKey("key", text), "invalid_argument"),
  (text) => {
    const path = refusing(() => parsePointer("pointer", text), "invalid_argument");
    if (path !== undefined) resolvePointer({ a: [{ b: 1 }], "": 2 }, path);
  },
  (text) => {
    const at = parseDate(text);
    if (at !== undefined) must(Number.isSafeInteger(at) && parseDate(at) === at, "a date that is none", () => at);
  },
  (text) => {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      return;
    }
    const schema = refusing(() => parseSchema(json), "invalid_argument");
    if (schema === undefined) return;
    same(parseSchema(formatSchema(schema)), schema, "a schema is read otherwise");
    same(readSchema(formatSchema(schema)), schema, "a stored schema is read otherwise");
  },
  (text) => {
    const head = parseFastHead(text);
    if (head === undefined) return;
    must(head.bodyBytes >= 0 && head.target.startsWith("/"), "a head that is none");
    must(Object.keys(head.headers).length * 2 === head.rawHeaders.length, "headers are lost", () => head);
  },
  (text) => {
    try {
      parseAddress(text, "listen");
    } catch (error) {
      must(error instanceof Error && !(error instanceof TypeError), "an address that is no error", () => String(error));
    }
  },
];

const seeds: readonly string[] = [
  '\u0000[{"stream":3,"partition":0,"offset":41},{"stream":1,"partition":2,"offset":0}]',
  `\u0001${Buffer.from("12:34:abcdefghijkl").toString("base64url")}`,
  `\u0002${Buffer.from("items").toString("base64url")}`,
  '\u0003{"kind":"statement","id":"1","namespace":"n","query":"SELECT 1","token":"[]"}',
  '\u0003{"kind":"prepared","id":"1","handle":"h","token":"[]"}',
  "\u0004orders.v1-x_y",
  "\u0005key-1",
  "\u0006/a/0/b~1~0",
  "\u00072024-02-29T23:59:59.123456789+14:00",
  "\u0007-0001-01-01",
  '\u0008{"fields":[{"name":"a","kind":{"text":{"analyzer":"english","positions":false}},"source_path":"x.y","fast":true}],"vectors":[{"name":"v","dim":3,"distance":"dot"}],"sparse_vectors":[{"name":"s"}],"dynamic":"strict","max_fields":9}',
  "\u0009POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX: y",
  "\u000a[::1]:8080",
];

/** The small texts that clients hand back or set: tokens, cursors, tickets, names, pointers, dates, schemas. */
export const tokens: Target = {
  name: "tokens",
  open: async () => ({
    ...nothingToClose,
    inputs: {
      kind: "guided",
      seeds,
      words: [
        ...['"stream":', '"partition":', '"offset":', "9007199254740991", "9999999999999999", "~", "T", "Z", "+00:00"],
        ...[
          '"keyword"',
          '"text"',
          '"i64"',
          '"json"',
          '"date"',
          '"dynamic"',
          '"indexed":',
          "\r\n",
          "transfer-encoding",
          ":",
        ],
      ],
      bytesMax: 1_000,
      sources: [
        "src/engine/token",
        "cursor.ts",
        "ticket.ts",
        "ids.ts",
        "pointer",
        "date.ts",
        "schema",
        "src/listener/",
      ],
    },
    run: (input) => checks[(input[0] ?? 0) % checks.length]!(input.toString("utf8", 1)),
  }),
};
