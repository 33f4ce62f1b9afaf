import { createHash } from "node:crypto";
import { invalid } from "../errors.ts";
import { liveLimits } from "./settings.ts";

/** JSON, with `{"$int64": "…"}` and `{"$bytes": "…"}` for what it lacks. */
export type LiveValue = null | boolean | number | string | LiveArray | LiveObject;
export type LiveArray = readonly LiveValue[];
export interface LiveObject {
  readonly [name: string]: LiveValue;
}

const int64Max = 2n ** 63n - 1n;
const int64Min = -(2n ** 63n);
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function isObject(value: unknown): value is LiveObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The integer of `{"$int64": "…"}`; undefined for any other value. */
export function int64Of(value: LiveValue): bigint | undefined {
  const text = special(value, "$int64");
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined;
  const number = BigInt(text);
  return number >= int64Min && number <= int64Max ? number : undefined;
}

/** The bytes of `{"$bytes": "…"}`; undefined for any other value. */
export function bytesOf(value: LiveValue): Buffer | undefined {
  const text = special(value, "$bytes");
  return text !== undefined && base64Pattern.test(text) ? Buffer.from(text, "base64") : undefined;
}

function special(value: LiveValue, name: "$int64" | "$bytes"): string | undefined {
  if (!isObject(value)) return undefined;
  const text = value[name];
  return typeof text === "string" && Object.keys(value).length === 1 ? text : undefined;
}

/** Throws `invalid_argument` unless it is a value that can be stored. */
export function checkValue(path: string, value: unknown, depth = 0): asserts value is LiveValue {
  if (depth > liveLimits.valueDepthMax) throw invalid(path, `nests deeper than ${liveLimits.valueDepthMax}`);
  if (value === null || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalid(path, "must be a finite number");
    return;
  }
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw invalid(path, "holds half of a surrogate pair");
    return;
  }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) checkValue(`${path}[${i}]`, item, depth + 1);
    return;
  }
  if (typeof value !== "object") throw invalid(path, "is no JSON value");
  if (Object.keys(value).some((name) => name.startsWith("$"))) {
    if (int64Of(value as LiveObject) !== undefined || bytesOf(value as LiveObject) !== undefined) return;
    throw invalid(path, 'keys that start with $ are reserved: {"$int64": "…"} and {"$bytes": "…"} alone are values');
  }
  for (const [name, item] of Object.entries(value)) {
    if (!name.isWellFormed() || name === "") throw invalid(path, "a field's name must not be empty");
    checkValue(`${path}.${name}`, item, depth + 1);
  }
}

/** The same text for the same value, whatever the order of its fields. */
export function canonicalJson(value: LiveValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item as LiveValue)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name]!)}`).join(",")}}`;
}

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}
