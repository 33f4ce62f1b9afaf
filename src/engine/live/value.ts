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
export function checkValue(path: string, value: unknown): asserts value is LiveValue {
  const found = misfitOf(value, 0);
  if (found !== undefined) throw invalid(path + found.path, found.message);
}

interface Misfit {
  readonly path: string;
  readonly message: string;
}

/** The path is put together on the way back: most values are fine. */
function misfitOf(value: unknown, depth: number): Misfit | undefined {
  if (depth > liveLimits.valueDepthMax) return misfit(`nests deeper than ${liveLimits.valueDepthMax}`);
  if (value === null || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : misfit("must be a finite number");
  if (typeof value === "string") return value.isWellFormed() ? undefined : misfit("holds half of a surrogate pair");
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = misfitOf(value[i], depth + 1);
      if (found !== undefined) return { ...found, path: `[${i}]${found.path}` };
    }
    return undefined;
  }
  if (typeof value !== "object") return misfit("is no JSON value");
  const names = Object.keys(value);
  if (names.some((name) => name.startsWith("$"))) {
    if (int64Of(value as LiveObject) !== undefined || bytesOf(value as LiveObject) !== undefined) return undefined;
    return misfit('keys that start with $ are reserved: {"$int64": "…"} and {"$bytes": "…"} alone are values');
  }
  for (const name of names) {
    if (!name.isWellFormed() || name === "") return misfit("a field's name must not be empty");
    const found = misfitOf((value as LiveObject)[name], depth + 1);
    if (found !== undefined) return { ...found, path: `.${name}${found.path}` };
  }
  return undefined;
}

function misfit(message: string): Misfit {
  return { path: "", message };
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
