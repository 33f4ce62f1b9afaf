/** Media types as RFC 2046 and RFC 9110 write them, and what they say about an event's data. */

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string;
  /** The `charset` parameter in lower case. */
  readonly charset: string | undefined;
}

const tokenCharacter = new Uint8Array(128);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") {
  tokenCharacter[character.charCodeAt(0)] = 1;
}

function tokenEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code >= 128 || tokenCharacter[code] === 0) break;
    at++;
  }
  return at;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 0x20 || text.charCodeAt(at) === 0x09) at++;
  return at;
}

/** The index after the closing quote of a quoted string, or -1. Only ASCII, so that it fits into an HTTP header. */
function quotedEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text.charCodeAt(at) === 0x22) return at + 1;
    if (text.charCodeAt(at) === 0x5c) at++;
    const code = text.charCodeAt(at);
    if (!(code >= 0x20 && code <= 0x7e)) return -1;
  }
  return -1;
}

export function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/gs, "$1");
}

/** Parses a media type, or returns undefined when the text is none. */
export function parseMediaType(text: string): MediaType | undefined {
  if (text === "application/json") return json;
  const slash = tokenEnd(text, 0);
  if (slash === 0 || text.charCodeAt(slash) !== 0x2f) return undefined;
  let at = tokenEnd(text, slash + 1);
  if (at === slash + 1) return undefined;
  const essence = text.slice(0, at).toLowerCase();
  let charset: string | undefined;
  for (at = skipSpace(text, at); at < text.length; at = skipSpace(text, at)) {
    if (text.charCodeAt(at) !== 0x3b) return undefined;
    at = skipSpace(text, at + 1);
    if (at === text.length || text.charCodeAt(at) === 0x3b) continue;
    const nameEnd = tokenEnd(text, at);
    if (nameEnd === at || text.charCodeAt(nameEnd) !== 0x3d) return undefined;
    const name = text.slice(at, nameEnd).toLowerCase();
    const quoted = text.charCodeAt(nameEnd + 1) === 0x22;
    at = quoted ? quotedEnd(text, nameEnd + 1) : tokenEnd(text, nameEnd + 1);
    if (at === -1 || at === nameEnd + 1) return undefined;
    if (name !== "charset") continue;
    const value = text.slice(nameEnd + 1, at);
    charset ??= (quoted ? unquote(value) : value).toLowerCase();
  }
  return { essence, charset };
}

const json: MediaType = { essence: "application/json", charset: undefined };

/**
 * Whether a content type is one of CloudEvents' own formats, known here or not. Where it stands in `content-type`, a
 * reader takes the whole message for an event in structured mode.
 */
export function isEventFormat(contentType: string): boolean {
  return eventFormat.test(contentType);
}

const eventFormat = /^\s*application\/cloudevents(?![a-z0-9])/i;

/** Subtypes of `application/` that are text although neither their name's type nor its suffix says so. */
const textEssences: ReadonlySet<string> = new Set([
  "application/ecmascript",
  "application/graphql",
  "application/javascript",
  "application/n-quads",
  "application/n-triples",
  "application/sql",
  "application/toml",
  "application/trig",
  "application/x-javascript",
  "application/x-ndjson",
  "application/x-sh",
  "application/x-www-form-urlencoded",
  "application/x-yaml",
  "application/xml",
  "application/xml-dtd",
  "application/yaml",
]);

export type Charset = "utf-8" | "us-ascii" | "iso-8859-1" | "other";

function charsetOf(name: string | undefined): Charset {
  switch (name) {
    case undefined:
    case "utf-8":
    case "utf8":
      return "utf-8";
    case "us-ascii":
    case "ascii":
      return "us-ascii";
    case "iso-8859-1":
    case "latin1":
      return "iso-8859-1";
    default:
      return "other";
  }
}

/** How data of a content type appears in the JSON format. */
export interface ContentKind {
  readonly kind: "json" | "text" | "binary";
  readonly charset: Charset;
}

const jsonKind: ContentKind = { kind: "json", charset: "utf-8" };
const binaryKind: ContentKind = { kind: "binary", charset: "utf-8" };

/** No declared type says nothing about the bytes, so they count as binary. */
export function contentKind(datacontenttype: string | undefined): ContentKind {
  if (datacontenttype === "application/json") return jsonKind;
  const media = datacontenttype === undefined ? undefined : parseMediaType(datacontenttype);
  if (media === undefined) return binaryKind;
  const charset = charsetOf(media.charset);
  const { essence } = media;
  if (essence.endsWith("/json") || essence.endsWith("+json")) return { kind: "json", charset };
  const text =
    essence.startsWith("text/") ||
    essence.endsWith("/xml") ||
    essence.endsWith("+xml") ||
    essence.endsWith("+yaml") ||
    textEssences.has(essence) ||
    // A declared character set says that the bytes are text.
    media.charset !== undefined;
  return { kind: text ? "text" : "binary", charset };
}
