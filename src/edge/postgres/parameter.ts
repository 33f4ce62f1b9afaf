import type { SqlParameter, SqlValue } from "../../engine/sql/sql.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import { binaryParameter, checkItemCount, ordered, readArray, readNumeric } from "./binary-parameter.ts";
import { parseBytea, timeText } from "./dialect/literals.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import type { Format } from "./message/frontend.ts";
import { nameOfOid, parameterType } from "./message/oid.ts";
import { decodeText, MessageReader } from "./message/reader.ts";

/**
 * A parameter of a Bind message. `oid` is the type that the client gave, or 0; `found` is the one that the statement
 * wants, where it is known.
 */
export function decodeParameter(
  value: Buffer | null,
  format: Format,
  oid: number,
  found: SqlType | undefined,
): SqlParameter {
  const declared = nameOfOid(oid);
  const type = oid === 0 || declared?.name === "unknown" ? found : (parameterType(oid) ?? found);
  if (value === null) return { value: null, ...(type === undefined ? {} : { type }) };
  if (declared?.name === "numeric") return numericParameter(value, format, declared.isArray);
  if (format === 1) return binaryParameter(value, oid, type);
  const text = decodeText(value);
  if (type === undefined) return { value: text };
  if (declared?.name === "jsonb" && !declared.isArray) return { value: ordered(text), type };
  if (type.kind === "list") return { value: parseArray(text, type), type };
  return { value: scalarOf(text, type), type };
}

/** Text stays text and is read by the engine as a value of the type, but for what Postgres writes in its own way. */
function scalarOf(text: string, type: SqlType): SqlValue {
  if (type.kind === "bytes") return parseBytes(text);
  if (type.kind === "boolean") return parseBoolean(text);
  const isTime = type.kind === "date" || type.kind === "timestamp" || type.kind === "timestamptz";
  return isTime ? (timeText(text) ?? text) : text;
}

/** Items have no type of their own on their way, so numbers become numbers here. */
function itemOf(text: string, type: SqlType): SqlValue {
  switch (type.kind) {
    case "int8":
    case "int16":
    case "int32":
    case "int64":
    case "uint8":
    case "uint16":
    case "uint32":
    case "uint64":
      if (!/^[+-]?\d+$/.test(text)) throw invalidText("bigint", text);
      return BigInt(text);
    case "float32":
    case "float64":
    case "decimal": {
      const value = /^[+-]?inf(?:inity)?$/i.test(text) ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);
      if (Number.isNaN(value) && !/^nan$/i.test(text)) throw invalidText("double precision", text);
      return value;
    }
    default:
      return scalarOf(text, type);
  }
}

function parseBoolean(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (/^(?:t|true|y|yes|on|1)$/.test(word)) return true;
  if (/^(?:f|false|n|no|off|0)$/.test(word)) return false;
  throw invalidText("boolean", text);
}

function parseBytes(text: string): Uint8Array {
  const bytes = parseBytea(text);
  if (bytes === undefined) throw invalidText("bytea", text);
  return Uint8Array.from(bytes);
}

function invalidText(type: string, text: string): PostgresError {
  return new PostgresError("22P02", `invalid input syntax for type ${type}: ${JSON.stringify(text.slice(0, 100))}`);
}

/** A decimal of as many digits after its point as its text has; one that DuckDB can't hold becomes a double. */
function numericParameter(value: Buffer, format: Format, isArray: boolean): SqlParameter {
  if (isArray) {
    const type: SqlType = { kind: "list", item: { kind: "float64" } };
    return { value: format === 1 ? readArray(value, "numeric") : parseArray(decodeText(value), type), type };
  }
  const text = format === 1 ? readNumeric(new MessageReader(value)) : decodeText(value).trim();
  const [, whole = "", fraction = ""] = /^[+-]?(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = whole.length + fraction.length;
  if (digits === 0 || digits > 38) return { value: text, type: { kind: "float64" } };
  return { value: text, type: { kind: "decimal", width: 38, scale: fraction.length } };
}

/** An array's text: `{1,2,NULL}`, nested ones too; a vector may also be in brackets, as JSON has it. */
export function parseArray(text: string, type: SqlType): SqlValue {
  checkItemCount(itemsIn(text));
  const trimmed = text.trim();
  if (trimmed.startsWith("[") && !/^\[[-+]?\d+:/.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as SqlValue;
    } catch {
      throw invalidText("array", text);
    }
  }
  // Bounds such as [0:2]= tell where the numbering begins, which no value of the engine has.
  const parser = new ArrayParser(trimmed.replace(/^(?:\[[-+]?\d+:[-+]?\d+\])+=/, ""));
  return parser.parse(type);
}

/** At most so many has an array of this text. */
function itemsIn(text: string): number {
  let items = 1;
  for (let at = text.indexOf(","); at !== -1; at = text.indexOf(",", at + 1)) items++;
  return items;
}

class ArrayParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(type: SqlType): SqlValue {
    const value = this.#list(type, 1);
    if (this.#at !== this.#text.length) throw this.#broken();
    return value;
  }

  #list(type: SqlType, depth: number): SqlValue[] {
    const item: SqlType = type.kind === "list" ? type.item : type;
    if (this.#text[this.#at++] !== "{" || depth > postgresLimits.arrayDepthMax) throw this.#broken();
    const items: SqlValue[] = [];
    this.#space();
    if (this.#text[this.#at] === "}") {
      this.#at++;
      return items;
    }
    for (;;) {
      this.#space();
      items.push(this.#text[this.#at] === "{" ? this.#list(item, depth + 1) : this.#item(item));
      this.#space();
      const next = this.#text[this.#at++];
      if (next === "}") return items;
      if (next !== ",") throw this.#broken();
    }
  }

  #item(type: SqlType): SqlValue {
    if (this.#text[this.#at] === '"') return itemOf(this.#quoted(), type);
    const start = this.#at;
    while (this.#at < this.#text.length && !",{}".includes(this.#text[this.#at]!)) this.#at++;
    const text = this.#text.slice(start, this.#at).trim();
    if (text === "") throw this.#broken();
    return text.toUpperCase() === "NULL" ? null : itemOf(text.replace(/\\(.)/gs, "$1"), type);
  }

  #quoted(): string {
    let text = "";
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]!;
      if (character === '"') {
        this.#at++;
        return text;
      }
      text += character === "\\" ? (this.#text[++this.#at] ?? "") : character;
    }
    throw this.#broken();
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #broken(): PostgresError {
    return new PostgresError("22P02", `malformed array literal: ${JSON.stringify(this.#text.slice(0, 100))}`);
  }
}
