import { fromBase64, toBase64 } from "./bytes.ts";

/** A value as a program has it: int64 as bigint, bytes as Uint8Array. */
export function encodeValue(value: unknown): unknown {
  if (typeof value === "bigint") return { $int64: String(value) };
  if (value instanceof Uint8Array) return { $bytes: toBase64(value) };
  if (Array.isArray(value)) return value.map(encodeValue);
  if (typeof value !== "object" || value === null) return value;
  const present = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(present.map(([name, each]) => [name, encodeValue(each)]));
}

export function decodeValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decodeValue);
  if (typeof value !== "object" || value === null) return value;
  const { $int64, $bytes } = value as Record<string, unknown>;
  if (typeof $int64 === "string") return BigInt($int64);
  if (typeof $bytes === "string") return fromBase64($bytes);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decodeValue(each)]));
}

/** The same text for the same value. */
export function valueKey(value: unknown): string {
  return JSON.stringify(encodeValue(value), (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
