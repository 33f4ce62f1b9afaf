import type { Readable } from "node:stream";
import type { AnyRequest } from "../../listener/registry.ts";

/**
 * How fresh the answer of a read has to be. `strong`: the owner's. `token`: of any node that has what the read's token names. `eventual`: of
 * any node.
 */
export type Wish = "strong" | "token" | "eventual";

/** Says for any request over HTTP how fresh its answer has to be; calls of Flight have a header of their own for it. */
const consistencyHeader = "service-consistency";
const flightHeader = "consistency";
export const tokenHeader = "service-consistency-token";

const restReads = /^\/v1\/namespaces(?:\/[^/]+(?:\/(?:streams|links|collections|aliases)(?:\/.*)?)?)?$/;
const restQuestions =
  /^\/v1\/namespaces\/[^/]+\/(?:query|sql|collections\/[^/]+\/(?:recall|scan|documents\/(?:get|scroll|count)))$/;
const calls =
  /^\/service\.collection\.v1\.(?:CollectionService\/(?:ListCollections|GetCollection|ListVersions|Scan)|DocumentService\/(?:Get|Scroll|Count)Documents|QueryService\/Search)$/;
const flightCalls = /^\/arrow\.flight\.protocol\.FlightService\/\w+$/;

/** A longer body is not looked into: what it may say can be said in the header. A request buffers no less by itself. */
const bodyBytesMax = 16 * 1024;

type Head = Pick<AnyRequest, "method" | "url" | "headers">;

/** What the head of a request asks for; undefined where its body has to tell. */
export function wishOf(request: Head): Wish | undefined {
  const { headers, method } = request;
  const [path, search] = splitTarget(request.url ?? "");
  if (flightCalls.test(path)) return headers[flightHeader] === "eventual" ? "eventual" : "strong";
  const isRead = (method === "GET" || method === "HEAD") && restReads.test(path);
  if (!isRead && !(method === "POST" && (restQuestions.test(path) || calls.test(path)))) return "strong";
  const wish = headers[consistencyHeader] ?? new URLSearchParams(search).get("consistency");
  if (wish === "eventual" || wish === "strong") return wish;
  if (!isRead && isShortJson(request)) return undefined;
  return headers[tokenHeader] === undefined ? "strong" : "token";
}

function splitTarget(target: string): [string, string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

function isShortJson({ headers }: Head): boolean {
  const length = Number(headers["content-length"]);
  return /^application\/json\b/.test(headers["content-type"] ?? "") && length > 0 && length <= bodyBytesMax;
}

/** The same for a request whose body tells. The body is left to whoever answers. */
export async function wishOfBody(request: AnyRequest): Promise<Wish> {
  const wishes = consistenciesOf(await peeked(request));
  if (wishes.includes("strong")) return "strong";
  if (wishes.every((each) => each === "eventual")) return "eventual";
  return request.headers[tokenHeader] === undefined ? "strong" : "token";
}

/** Resolves with a short body once all of it is there, and undefined where it never will be. */
async function peeked(request: AnyRequest): Promise<Buffer | undefined> {
  const readable = request as Readable;
  const length = Number(request.headers["content-length"]);
  if (readable.readableLength < length) {
    await new Promise<void>((resolve) => {
      const look = () => {
        if (readable.readableLength < length && !readable.readableEnded && !readable.destroyed) return;
        for (const event of ["readable", "end", "close", "error"]) readable.off(event, look);
        resolve();
      };
      for (const event of ["readable", "end", "close", "error"]) readable.on(event, look);
    });
  }
  const body = readable.read() as Buffer | null;
  // Put back in the same turn: the stream ends once a read finds nothing more.
  if (body !== null) readable.unshift(body);
  return body?.length === length ? body : undefined;
}

/** What a body says, for each of its queries where it has several. */
function consistenciesOf(body: Buffer | undefined): unknown[] {
  try {
    const json = JSON.parse(body?.toString() ?? "") as { consistency?: unknown; queries?: unknown } | null;
    if (!Array.isArray(json?.queries)) return [json?.consistency];
    return json.queries.map((each: { consistency?: unknown } | null) => each?.consistency);
  } catch {
    return [undefined];
  }
}
