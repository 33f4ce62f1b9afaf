import type { Dice } from "../../sim/dice.ts";
import { mutate } from "../mutate.ts";
import { must, type OpenTarget, type Target } from "../target.ts";
import { secret } from "./server.ts";
import { cut, exchange } from "./socket.ts";

/** Bytes for one connection, and where they are cut into packets. */
interface Case {
  readonly bytes: string;
  readonly cuts: readonly number[];
}

const streams = "/v1/namespaces/fuzz/streams";
const bodies = [
  '{"records":[{"value":"aGVsbG8="}]}',
  '{"records":[{"value":"aGk"}]}',
  '{"records":[]}',
  '{"records":[{"headers":[{"key":"k","value":"AA=="}]}],"match_offset":999999}',
  "{",
  "",
];

/** None of them changes anything. */
const writes = [
  '{"ops":[{"delete":{"id":99999}}]}',
  '{"ops":[{"upsert":{"id":1,"source":{},"if_version":999999}}]}',
  '{"ops":[{"patch":{"id":99999,"source":{}}}]}',
  '{"ops":[]}',
  '{"ops":[{"delete":{"id":"x"}}],"idempotency_key":1}',
];

type Part = (dice: Dice) => string;

/** The requests that the fast lane knows, and others. */
const requests: readonly Part[] = [
  (dice) => post(`${streams}/silent/partitions/0/records`, dice.pick(bodies), dice),
  (dice) => post(`${streams}/nowhere/partitions/0/records`, dice.pick(bodies), dice),
  (dice) =>
    post(
      `${streams}/silent/events`,
      '{"specversion":"1.0","id":"1","source":"/s"}',
      dice,
      "application/cloudevents+json",
    ),
  (dice) =>
    post(
      "/v1/namespaces/fuzz/query",
      '{"from":"collections.items","limit":1,"select":[],"filter":{"ids":{"values":[1]}}}',
      dice,
    ),
  (dice) => post("/v1/namespaces/fuzz/query", '{"from":"nothing at all"}', dice),
  (dice) => post("/v1/namespaces/fuzz/collections/items/documents", dice.pick(writes), dice),
  (dice) => get(`${streams}/events/partitions/${dice.below(4)}/records?offset=${dice.below(12)}&max_bytes=200`, dice),
  (dice) => get(`/v1/namespaces/fuzz/collections/items/documents/${dice.pick([1, 31, 99_999])}`, dice),
  (dice) => get("/v1/namespaces/fuzz", dice),
  (dice) => get("/nothing", dice),
  (dice) => chunked(`${streams}/silent/partitions/0/records`, dice),
];

const plainHeaders = [
  "X-Request-Id: r1",
  "Accept: */*",
  "User-Agent: fuzz",
  `Authorization: Bearer ${secret}`,
  "Connection: keep-alive",
  "content-encoding: identity",
];

/** What a second parser might read another way. */
const oddHeaders = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\tchunked",
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: +5",
  "Content-Length: 0x5",
  "Content-Length: 5, 5",
  "Content-Length: 99999999999999999999",
  "Content-Length: -1",
  "Content-Length:",
  "Content-Length : 3",
  "Host: other",
  "Host:",
  "Connection: close",
  "Connection: upgrade",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "Expect: more",
  "TE: trailers",
  " folded: yes",
  "\tfolded",
  "X: a\rb",
  "X: a\nb",
  "X: a\u0000b",
  "X\u0000: a",
  "X: \u00e9\u00ff",
  ": empty",
  "no colon",
  "__proto__: x",
  "constructor: x",
  "Content-Encoding: gzip",
  `X: ${"x".repeat(9_000)}`,
  `X: ${"x".repeat(40_000)}`,
];

function headersOf(dice: Dice): string[] {
  const headers = dice.chance(0.97) ? ["Host: 127.0.0.1"] : [];
  while (dice.chance(0.25)) headers.push(dice.pick(plainHeaders));
  if (dice.chance(0.2)) headers.splice(dice.below(headers.length + 1), 0, dice.pick(oddHeaders));
  return headers;
}

function lineEnd(dice: Dice): string {
  return dice.chance(0.97) ? "\r\n" : dice.pick(["\n", "\r", "\r\r\n", "\u0000\r\n", " \r\n"]);
}

function head(method: string, target: string, headers: readonly string[], dice: Dice): string {
  const version = dice.chance(0.97)
    ? "HTTP/1.1"
    : dice.pick(["HTTP/1.0", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", "HTTP/01.1", ""]);
  const space = dice.chance(0.98) ? " " : dice.pick(["  ", "\t", ""]);
  return (
    [`${method}${space}${target} ${version}`, ...headers].map((line) => line + lineEnd(dice)).join("") + lineEnd(dice)
  );
}

function post(target: string, body: string, dice: Dice, type = "application/json"): string {
  const length = dice.chance(0.95) ? body.length : dice.pick([0, body.length - 1, body.length + 1, 70_000]);
  const headers = [...headersOf(dice), `Content-Type: ${type}`, `Content-Length: ${length}`];
  return head("POST", target, headers, dice) + body;
}

function get(target: string, dice: Dice): string {
  const method = dice.chance(0.95) ? "GET" : dice.pick(["HEAD", "get", "GE", "OPTIONS", "PUT", "CONNECT", "G\u0000T"]);
  return head(method, target, headersOf(dice), dice);
}

function chunked(target: string, dice: Dice): string {
  const body = dice.pick(bodies);
  const sizes = ["3", "0x3", "ffffffffffffffff", "-1", "3;ext=1", ` ${body.length.toString(16)}`, "fffffff"];
  const size = dice.chance(0.7) ? body.length.toString(16) : dice.pick(sizes);
  const end = dice.chance(0.8) ? "0\r\n\r\n" : dice.pick(["0\r\nX: y\r\n\r\n", "0\r\n", "0\n\n", "00\r\n\r\n", ""]);
  const headers = [...headersOf(dice), "Content-Type: application/json", "Transfer-Encoding: chunked"];
  return `${head("POST", target, headers, dice)}${size}\r\n${body}\r\n${end}`;
}

function make(dice: Dice): Case {
  let bytes = "";
  do bytes += dice.pick(requests)(dice);
  while (dice.chance(0.3));
  let raw: Buffer = Buffer.from(bytes, "latin1");
  if (dice.chance(0.25)) raw = mutate(raw, raw, [...oddHeaders, "\r\n", "\r\n\r\n", "0\r\n\r\n"], 60_000, dice);
  const everywhere = raw.length < 600 && dice.chance(0.1);
  const cuts = everywhere
    ? Array.from({ length: raw.length }, (_, i) => i)
    : Array.from({ length: dice.below(6) }, () => dice.below(raw.length + 1));
  return { bytes: raw.toString("base64"), cuts };
}

/** Answers without what may differ: times, counters and how the connection goes on. */
function shown(received: Buffer): string {
  return received
    .latin1Slice()
    .replaceAll(
      /\r\n(?:date|keep-alive|connection|x-request-id|content-length|service-consistency-token): [^\r]*/gi,
      "",
    )
    .replaceAll(
      /"(?:base_offset|last_offset|offset|next_offset|high_watermark|log_start_offset|took_ms|timestamp_ms)":[\d.]+/g,
      "#",
    )
    .replaceAll(/the next offset is \d+/g, "#");
}

function statusLines(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!);
}

/** The header names of an answer come in another order by each way. */
function normal(received: Buffer): string[] {
  return shown(received)
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .map((each) => {
      const end = each.indexOf("\r\n\r\n");
      const [status, ...headers] = each.slice(0, end).split("\r\n");
      return [status, ...headers.map((line) => line.toLowerCase()).sort(), each.slice(end + 4)].join("\n");
    });
}

const broken = '"request: is not valid HTTP/1.1"';

/**
 * Where the bytes stop being HTTP, the request that they stop in may have been answered before the rest of it came, for
 * what its head says; all requests before it have the same answers.
 */
function agree(raw: Buffer, one: readonly string[], other: readonly string[]): boolean {
  if (one.join("\n") === other.join("\n")) return true;
  if (/expect: *100-continue/i.test(raw.latin1Slice())) return agreeButForContinue(one, other);
  const isBroken = [...one, ...other].some((each) => each.includes(broken));
  if (!isBroken) return false;
  const [shorter, longer] = [one, other]
    .map((list) => list.filter((each) => !each.includes(broken)))
    .sort((x, y) => x.length - y.length) as [string[], string[]];
  return longer.length - shorter.length <= 1 && shorter.every((each, i) => each === longer[i]);
}

/**
 * Whoever asks whether to send a body and sends it at once may be refused before it was read: then the connection ends with
 * that answer, and else goes on.
 */
function agreeButForContinue(one: readonly string[], other: readonly string[]): boolean {
  const [shorter, longer] = [one, other]
    .map((list) => list.filter((each) => !each.startsWith("HTTP/1.1 100 ")))
    .sort((x, y) => x.length - y.length) as [string[], string[]];
  return shorter.every((each, i) => each.split("\n")[0] === longer[i]!.split("\n")[0]);
}

function check(received: Buffer): void {
  const text = received.latin1Slice();
  const bad = statusLines(text).filter((status) => status.startsWith("5") && status !== "503" && status !== "501");
  must(bad.length === 0, "an error of ours", () => text.slice(0, 2_000));
  must(!text.includes(secret), "an answer tells a secret", () => text.slice(0, 2_000));
  for (const [, body] of text.matchAll(/HTTP\/1\.1 400 [^\r]*\r\n(?:[^\r]+\r\n)*\r\n(\{[^\r]*\})/g)) {
    must(/"field":"[^"]/.test(body!), "bad input whose field is not named", () => body);
  }
}

/** Short, since every case that ends in the middle of a request waits for it; what differs is tried again with longer ones. */
const quietMs = 150;
/** Closes the connection where what stands before it is whole. */
const last = Buffer.from("GET /last HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

async function compare(port: number, { bytes, cuts }: Case, silentMs: number): Promise<void> {
  const raw = Buffer.concat([Buffer.from(bytes, "base64"), last]);
  const parts = cut(raw, cuts);
  const ways = await Promise.all([
    exchange(port, [raw], { quietMs: silentMs }),
    exchange(port, parts, { quietMs: silentMs }),
    exchange(port, [raw], { quietMs: silentMs, first: toNode }),
    exchange(port, parts, { quietMs: silentMs, first: toNode }),
  ]);
  for (const { received, hung } of ways) {
    must(!hung, "the server does not close", () => raw.latin1Slice());
    check(received);
  }
  for (const { greeting } of ways.slice(2)) {
    // Node's server writes it so, the lane in small letters.
    must(greeting.includes("\r\nDate: "), "the lane has not let go of the connection", () => greeting);
  }
  const [whole, ...others] = ways.map(({ received }) => normal(received));
  for (const [i, other] of others.entries()) {
    const which = ["in packets", "by Node's server", "by Node's server in packets"][i];
    must(agree(raw, whole!, other), `answered otherwise ${which}`, () =>
      [raw.latin1Slice(), whole!.join("\n\n"), other.join("\n\n")].join("\n---\n"),
    );
  }
}

/** Most of a case is waiting. */
const casesAtOnce = 48;
const triesMax = 4;

/** A busy machine may have been silent, or a reset have come before an answer, for other reasons than the bytes. */
async function compareAgain(port: number, given: Case, tries = 1, silentMs = quietMs): Promise<void> {
  try {
    await compare(port, given, silentMs);
  } catch (error) {
    if (tries === triesMax) throw error;
    await compareAgain(port, given, tries + 1, 4 * silentMs);
  }
}

/** Takes the connection off the fast lane: a request that the lane leaves to Node. */
const toNode = Buffer.from("GET /v1/instance HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

/** The same bytes get the same answers in whatever packets they come, on the fast lane and on Node's own server. */
export const http1: Target = {
  name: "http1",
  open: async (context): Promise<OpenTarget> => {
    const server = await context.server();
    return {
      inputs: {
        kind: "made",
        lanes: casesAtOnce,
        make: (dice) => Buffer.from(JSON.stringify(make(dice))),
      },
      run: (input) => compareAgain(server.port, JSON.parse(input.toString()) as Case),
      check: () => server.check(),
      [Symbol.asyncDispose]: async () => {},
    };
  },
};
