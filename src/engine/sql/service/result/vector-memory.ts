import type { Validity } from "../../batch.ts";
import { lib, type Vector } from "../duckdb.ts";

export function copyOf(vector: Vector, bytes: number): ArrayBuffer {
  const copy = new ArrayBuffer(bytes);
  if (bytes > 0) new Uint8Array(copy).set(lib.vector_get_data(vector, bytes));
  return copy;
}

export function validityOf(vector: Vector, rows: number): Validity {
  if (rows === 0) return undefined;
  // DuckDB keeps words of 64 bits.
  const bits = lib.vector_get_validity(vector, Math.ceil(rows / 64) * 8) as Uint8Array | null;
  if (bits === null) return undefined;
  const validity = new Uint8Array(Math.ceil(rows / 8));
  validity.set(bits.subarray(0, validity.length));
  const full = rows >> 3;
  let all = true;
  for (let i = 0; i < full && all; i++) all = validity[i] === 0xff;
  if (!all) return validity;
  const rest = (1 << (rows & 7)) - 1;
  return ((validity[full] ?? 0) & rest) === rest ? undefined : validity;
}

export function isValid(validity: Validity, row: number): boolean {
  return validity === undefined || ((validity[row >> 3]! >> (row & 7)) & 1) === 1;
}
