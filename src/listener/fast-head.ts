/** What stands before the body of a request that the fast lane takes. */
export interface FastHead {
  readonly method: "GET" | "POST";
  /** Path and query, as sent. */
  readonly target: string;
  /** By lower-case name; every name comes once. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values alternate, as sent. */
  readonly rawHeaders: readonly string[];
  readonly bodyBytes: number;
}

/**
 * request line  method SP target SP "HTTP/1.1" CRLF
 * header        name ":" OWS value OWS CRLF
 * Only this, to the letter: a request with anything else in it is left to the full parser, so that the two can never
 * disagree about where it ends.
 */
const requestLine = /^(GET|POST) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?[ \t]*$/;
const bodyLength = /^(?:0|[1-9]\d{0,8})$/;

/** More headers than this are counted by the full parser, which has a bound for them. */
const headersMax = 64;

/** Headers that change how a request is read or answered; what they ask for is the full parser's business. */
const special: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "te",
  "trailer",
  "expect",
  "upgrade",
  "proxy-connection",
  "keep-alive",
  "http2-settings",
  // Not a header of its own in an object without a prototype's names.
  "__proto__",
]);

/** The head in `text`, which ends before the empty line; undefined when the fast lane does not take it. */
export function parseFastHead(text: string): FastHead | undefined {
  const lines = text.split("\r\n");
  if (lines.length > headersMax + 1) return undefined;
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (let i = 1; i < lines.length; i++) {
    const line = headerLine.exec(lines[i]!);
    if (line === null) return undefined;
    const name = line[1]!.toLowerCase();
    if (special.has(name) || headers[name] !== undefined) return undefined;
    const value = line[2] ?? "";
    headers[name] = value;
    rawHeaders.push(line[1]!, value);
  }
  if (headers["host"] === undefined) return undefined;
  const { connection, "content-length": length } = headers;
  if (connection !== undefined && connection.toLowerCase() !== "keep-alive") return undefined;
  if (length !== undefined && !bodyLength.test(length)) return undefined;
  const start = requestLine.exec(lines[0]!);
  if (start === null) return undefined;
  const method = start[1] as FastHead["method"];
  const bodyBytes = length === undefined ? 0 : Number(length);
  if (method === "GET" && bodyBytes > 0) return undefined;
  return { method, target: start[2]!, headers, rawHeaders, bodyBytes };
}
