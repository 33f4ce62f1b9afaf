import { isWrittenNumber, parseWritten } from "../../../engine/exact-json.ts";
import { sqlFault } from "../../../engine/sql/fault.ts";
import { typeToken } from "./casts.ts";
import { type PostgresDraft, quotedText } from "./draft.ts";
import { stringOf, type Token } from "./lexer.ts";

/** A string that holds an array: `'{1,2}'::int[]`, `= any('{1,2}')`, `conkey = '{1}'`. */
export function rewriteArrayText(draft: PostgresDraft, i: number, token: Token): number {
  const value = stringOf(token);
  if (!/^\s*\{/.test(value) || !/\}\s*$/.test(value)) return 0;
  const brackets = draft.isSymbol(i + 1, "::") ? arrayTypeBrackets(draft, i + 2) : undefined;
  if (brackets !== undefined) {
    draft.replace(i, i, quotedText(bracketed(value)));
    // A type of arrays is one whatever their dimensions are.
    const more = dimensionsOf(value) - brackets.count;
    if (more > 0) draft.insertAfter(brackets.end, "[]".repeat(more));
    return 1;
  }
  const isAny = draft.isSymbol(i - 1, "(") && draft.isSymbol(i + 1, ")") && anyWords.has(draft.nameAt(i - 2));
  if (isAny) {
    draft.replace(i, i, listOf(value));
    return 1;
  }
  const isCompared = /^\{[\d,\s]*\}$/.test(value) && (draft.isSymbol(i - 1, "=") || draft.isSymbol(i - 1, ">"));
  if (!isCompared) return 0;
  draft.replace(i, i, quotedText(bracketed(value)));
  return 1;
}

/** A string whose type stands beside it, where DuckDB reads that type's text in another form. */
export function rewriteTypedText(draft: PostgresDraft, i: number, token: Token): number {
  const type = typeOfText(draft, i);
  if (type === "vector") checkDimensions(draft, i, stringOf(token));
  const read = type !== undefined && Object.hasOwn(textsOfTypes, type) ? textsOfTypes[type] : undefined;
  const text = read?.(stringOf(token));
  if (text === undefined) return 0;
  draft.replace(i, i, quotedText(text));
  return 1;
}

/** `'…'::type`, `CAST('…' AS type)` and `type '…'`. */
function typeOfText(draft: PostgresDraft, i: number): string | undefined {
  const isCast =
    draft.isSymbol(i + 1, "::") || (draft.isWord(i + 1, "as") && draft.isWord(draft.around(i) - 1, "cast"));
  if (isCast) {
    const last = typeToken(draft, i + 2);
    return last === -1 || draft.isSymbol(last + 1, "[") ? undefined : draft.nameAt(last).toLowerCase();
  }
  // `timestamp with time zone '…'`
  const at = draft.isWord(i - 1, "zone") && draft.isWord(i - 2, "time") ? i - 4 : i - 1;
  return draft.tokens[at]?.kind === "word" ? draft.nameAt(at) : undefined;
}

/** `'[1,2]'::vector(3)` */
function checkDimensions(draft: PostgresDraft, i: number, text: string): void {
  const open = typeToken(draft, i + 2) + 1;
  if (!draft.isSymbol(open, "(") || draft.closing(open) !== open + 2) return;
  const [wanted, count] = [Number(draft.tokens[open + 1]!.text), text.split(",").length];
  if (wanted === count) return;
  const position = draft.tokens[i]!.start;
  throw sqlFault("invalid_value", `expected ${wanted} dimensions, not ${count}`, { position });
}

const textsOfTypes: Readonly<Record<string, (text: string) => string | undefined>> = {
  bytea: (text) => parseBytea(text)?.toString("hex").replace(/../g, "\\x$&"),
  date: timeText,
  timestamp: timeText,
  timestamptz: timeText,
  jsonb: jsonbText,
};

/** A date before the year 1 as DuckDB reads it, `0044-03-15 (BC)`; undefined for any other. */
export function timeText(text: string): string | undefined {
  const [, date, time] = /^\s*(\d+-\d+-\d+)(.*?)\s+BC\s*$/is.exec(text) ?? [];
  return date === undefined ? undefined : `${date} (BC)${time}`;
}

const anyWords = new Set(["any", "all", "some"]);

/** The `[]` after the type at token `i`: where they end, and how many they are. Undefined where it is no array. */
function arrayTypeBrackets(
  draft: PostgresDraft,
  i: number,
): { readonly end: number; readonly count: number } | undefined {
  const last = typeToken(draft, i);
  if (last === -1) return undefined;
  const name = draft.nameAt(last).toLowerCase();
  if (name === "oidvector" || name === "int2vector") return { end: last, count: 1 };
  let count = 0;
  let end = last;
  // A type may be of several words, and have a size in brackets.
  for (let at = last + 1; at < last + 10; at++) {
    if (draft.isSymbol(at, "[")) {
      at = draft.closing(at);
      end = at;
      count++;
    } else if (count === 0 && draft.isSymbol(at, "(")) at = draft.closing(at);
    else if (count > 0 || !draft.isName(at)) break;
    if (at === -1) return undefined;
  }
  return count === 0 ? undefined : { end, count };
}

/** How deep the braces are that an array begins with. */
function dimensionsOf(array: string): number {
  const [, opening = ""] = /^\s*((?:\{\s*)+)/.exec(array) ?? [];
  return Math.min(opening.replace(/\s/g, "").length, dimensionsMax);
}

const dimensionsMax = 6;

/** The text of an array in DuckDB's brackets. */
function bracketed(array: string): string {
  const parts: string[] = [];
  let isQuoted = false;
  for (let at = 0; at < array.length; at++) {
    const character = array[at]!;
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted && character === "\\") parts.push(character, array[++at] ?? "");
    else if (isQuoted) parts.push(character);
    else parts.push(character === "{" ? "[" : character === "}" ? "]" : character);
  }
  return parts.join("");
}

/** The items of an array of no type: numbers where all are, else texts. */
function listOf(array: string): string {
  const items = itemsOf(array);
  const isNumbers = items.every((item) => item === undefined || /^\s*-?\d+(?:\.\d+)?\s*$/.test(item));
  const shown = items.map((item) => (item === undefined ? "NULL" : isNumbers ? item : quotedText(item)));
  return `[${shown.join(", ")}]`;
}

/** Undefined is NULL. */
export function itemsOf(array: string): (string | undefined)[] {
  const inner = array.trim().slice(1, -1);
  const items: (string | undefined)[] = [];
  if (inner.trim() === "") return items;
  let item: string[] = [];
  let isQuoted = false;
  let wasQuoted = false;
  const finish = () => {
    const text = item.join("");
    if (wasQuoted) items.push(text);
    else items.push(text.trim().toLowerCase() === "null" ? undefined : text.trim());
    item = [];
    wasQuoted = false;
  };
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at]!;
    if (character === "\\") item.push(inner[++at] ?? "");
    else if (character === '"') {
      isQuoted = !isQuoted;
      wasQuoted = true;
    } else if (character === "," && !isQuoted) finish();
    else item.push(character);
  }
  finish();
  return items;
}

/**
 * Bytes as Postgres writes them: `\x` and hexadecimal digits, or the older form, bytes as they are with `\\` and octal
 * `\ooo`. Undefined for what is neither.
 */
export function parseBytea(text: string): Buffer | undefined {
  if (text.startsWith("\\x")) {
    const digits = text.slice(2).replace(/\s/g, "");
    return /^(?:[0-9a-fA-F]{2})*$/.test(digits) ? Buffer.from(digits, "hex") : undefined;
  }
  // Escapes are longer than what they mean, so the bytes are put together in place.
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; length++) {
    const octal = bytes[at] === backslash ? /^\\([0-3][0-7]{2})/.exec(bytes.toString("latin1", at, at + 4)) : null;
    const isSlash = bytes[at] === backslash && bytes[at + 1] === backslash;
    if (bytes[at] === backslash && octal === null && !isSlash) return undefined;
    bytes[length] = octal === null ? bytes[at]! : Number.parseInt(octal[1]!, 8);
    at += octal === null ? (isSlash ? 2 : 1) : 4;
  }
  return bytes.subarray(0, length);
}

const backslash = 0x5c;

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
