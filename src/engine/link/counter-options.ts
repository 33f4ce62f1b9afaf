import { isUtf8 } from "node:buffer";
import { invalid } from "../errors.ts";
import { parsePointer, resolvePointer } from "../json-pointer.ts";
import type { BatchCursor } from "../log/record-batch.ts";
import { int64Max, int64Min } from "./counter-sum.ts";

/** How a record names its counter and its amount. */
export interface CounterRule {
  /** The counter's name, or undefined when the record has none. */
  name(cursor: BatchCursor): string | undefined;
  /** The amount, or undefined when the record has no usable one. */
  amount(cursor: BatchCursor): number | bigint | undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decimal = /^[+-]?\d+$/;

export function parseCounterOptions(options: unknown): CounterRule {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalid("options", "must be an object");
  }
  const { by = "key", amount = "value", ...rest } = options as Record<string, unknown>;
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) throw invalid(`options.${unknown}`, "unknown option; a counter takes by and amount");
  const json = new JsonValue();
  return { name: parseBy(by ?? "key", json), amount: parseAmount(amount ?? "value", json) };
}

function parseBy(by: unknown, json: JsonValue): CounterRule["name"] {
  if (by === "key") return keyName;
  const [kind, value] = soleMember("options.by", by, ["header", "json"], '"key", {header: NAME} or {json: POINTER}');
  if (kind === "header") return headerName(value);
  const path = parsePointer("options.by.json", value);
  return (cursor) => {
    const found = resolvePointer(json.of(cursor), path);
    if (typeof found === "string") return found.isWellFormed() ? found : undefined;
    const isName = typeof found === "number" || typeof found === "bigint" || typeof found === "boolean";
    return isName ? String(found) : undefined;
  };
}

function parseAmount(amount: unknown, json: JsonValue): CounterRule["amount"] {
  if (amount === "value") return valueAmount;
  if (amount === "one") return () => 1;
  const [, value] = soleMember("options.amount", amount, ["json"], '"value", "one" or {json: POINTER}');
  const path = parsePointer("options.amount.json", value);
  return (cursor) => {
    const found = resolvePointer(json.of(cursor), path);
    if (typeof found === "bigint") return withinInt64(found);
    if (typeof found === "number") return Number.isSafeInteger(found) ? found : undefined;
    return typeof found === "string" ? parseInteger(found) : undefined;
  };
}

function soleMember(field: string, value: unknown, names: readonly string[], forms: string): [string, string] {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const [entry] = entries;
  if (entries.length !== 1 || entry === undefined || !names.includes(entry[0]) || typeof entry[1] !== "string") {
    throw invalid(field, `must be ${forms}`);
  }
  return [entry[0], entry[1]];
}

function keyName(cursor: BatchCursor): string | undefined {
  const { bytes, keyStart, keyLength } = cursor;
  return keyLength < 0 ? undefined : utf8Text(bytes, keyStart, keyStart + keyLength);
}

function headerName(name: string): CounterRule["name"] {
  return (cursor) => {
    if (cursor.headerCount === 0) return undefined;
    const value = cursor.headers.findLast(({ key }) => key === name)?.value;
    return value === undefined ? undefined : utf8Text(value as Buffer, 0, value.length);
  };
}

/** Short keys are nearly always ASCII: checking that in a loop is 4 times as fast as the decoder. */
function utf8Text(bytes: Buffer, start: number, end: number): string | undefined {
  for (let i = start; i < end; i++) {
    if (bytes[i]! >= 0x80) return decodedText(bytes, start, end);
  }
  return bytes.latin1Slice(start, end);
}

function decodedText(bytes: Buffer, start: number, end: number): string | undefined {
  try {
    return utf8.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

function valueAmount(cursor: BatchCursor): number | bigint | undefined {
  const { bytes, valueStart, valueLength } = cursor;
  if (valueLength <= 0) return 1;
  if (valueLength > 20) return undefined;
  if (valueLength < 16) {
    const plain = plainDigits(bytes, valueStart, valueLength);
    if (plain >= 0) return plain;
  }
  return parseInteger(bytes.latin1Slice(valueStart, valueStart + valueLength));
}

/** An unsigned number below 2^53 read straight from its digits; -1 when it is anything else. */
function plainDigits(bytes: Buffer, start: number, length: number): number {
  let value = 0;
  for (let i = start; i < start + length; i++) {
    const digit = bytes[i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function parseInteger(text: string): number | bigint | undefined {
  if (text.length > 20 || !decimal.test(text)) return undefined;
  return withinInt64(BigInt(text.startsWith("+") ? text.slice(1) : text));
}

function withinInt64(value: bigint): bigint | undefined {
  return value > int64Max || value < int64Min ? undefined : value;
}

/** The value of a record as JSON, parsed once where both the name and the amount are read from it. */
class JsonValue {
  #bytes: Buffer | undefined;
  #offset = -1;
  #value: unknown;

  of(cursor: BatchCursor): unknown {
    if (this.#bytes !== cursor.bytes || this.#offset !== cursor.offset) {
      this.#bytes = cursor.bytes;
      this.#offset = cursor.offset;
      this.#value = parseExact(cursor.value);
    }
    return this.#value;
  }
}

/** A run of digits that may be an integer beyond what a number holds exactly. */
const manyDigits = /\d{16}/;

function parseExact(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || !isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  try {
    return manyDigits.test(text) ? JSON.parse(text, exactInteger as Reviver) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Reviver = (name: string, value: unknown) => unknown;

/** The source text of a value is newer than the declared type of JSON.parse. */
function exactInteger(_name: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const { source = "" } = context;
  return decimal.test(source) ? BigInt(source) : value;
}
