import type { Validity } from "../../batch.ts";
import { sqlFault } from "../../fault.ts";
import { checkValueBytes } from "../../value.ts";
import { lib, type Vector } from "../duckdb.ts";
import type { Bytes } from "./json-numbers.ts";
import { copyOf, isValid } from "./vector-memory.ts";

/** What one column's values of a chunk take at most: a batch is put together in memory. */
const chunkBytesMax = 512 * 1024 * 1024;

/** Strings of up to 12 bytes lie in the vector itself, longer ones where it points to. */
const inlineBytesMax = 12;

export function readBytes(vector: Vector, validity: Validity, rows: number): Bytes {
  const raw = rows === 0 ? new Uint8Array() : lib.vector_get_data(vector, rows * 16);
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const offsets = new Int32Array(rows + 1);
  let total = 0;
  for (let i = 0; i < rows; i++) {
    const length = isValid(validity, i) ? view.getUint32(i * 16, true) : 0;
    checkValueBytes(length);
    total += length;
    offsets[i + 1] = total;
  }
  if (total > chunkBytesMax) {
    throw sqlFault("out_of_range", `${rows} rows of ${total} bytes are too long to be sent at once`);
  }
  const data = new Uint8Array(total);
  for (let i = 0; i < rows; i++) {
    const length = offsets[i + 1]! - offsets[i]!;
    if (length === 0) continue;
    const at = raw.byteOffset + i * 16;
    const bytes =
      length <= inlineBytesMax
        ? raw.subarray(i * 16 + 4, i * 16 + 4 + length)
        : lib.get_data_from_pointer(raw.buffer as ArrayBuffer, at + 8, length);
    data.set(bytes, offsets[i]!);
  }
  return { offsets, data };
}

function textBytes(rows: number, textOf: (row: number) => string | undefined): Bytes {
  const texts: Buffer[] = [];
  const offsets = new Int32Array(rows + 1);
  for (let i = 0; i < rows; i++) {
    const text = Buffer.from(textOf(i) ?? "");
    texts.push(text);
    offsets[i + 1] = offsets[i]! + text.length;
  }
  return { offsets, data: new Uint8Array(Buffer.concat(texts)) };
}

export function asText(vector: Vector, validity: Validity, rows: number, format: (bytes: Uint8Array) => string): Bytes {
  const { offsets, data } = readBytes(vector, validity, rows);
  return textBytes(rows, (i) =>
    isValid(validity, i) ? format(data.subarray(offsets[i]!, offsets[i + 1]!)) : undefined,
  );
}

/** The first byte tells how many bits of the second are none of the value's. */
export function bitText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes.subarray(1)) text += byte.toString(2).padStart(8, "0");
  return text.slice(bytes[0] ?? 0);
}

/** Three bytes of length and sign, then the magnitude, the highest byte first; all inverted when it is negative. */
export function bigText(bytes: Uint8Array): string {
  const negative = (bytes[0]! & 0x80) === 0;
  let value = 0n;
  for (const byte of bytes.subarray(3)) value = (value << 8n) | BigInt(negative ? byte ^ 0xff : byte);
  return String(negative ? -value : value);
}

const offsetSecondsMax = 16 * 3600 - 1;

/** 40 bits of microseconds, 24 of the offset, counted down from the largest. */
export function timeZoneText(vector: Vector, validity: Validity, rows: number): Bytes {
  const values = new BigUint64Array(copyOf(vector, rows * 8));
  return textBytes(rows, (i) => {
    if (!isValid(validity, i)) return undefined;
    const micros = Number(values[i]! >> 24n);
    const offset = offsetSecondsMax - Number(values[i]! & 0xffffffn);
    const seconds = Math.floor(micros / 1_000_000);
    const clock = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => two(Math.floor(part))).join(":");
    const rest = micros % 1_000_000;
    const fraction = rest === 0 ? "" : `.${String(rest).padStart(6, "0").replace(/0+$/, "")}`;
    const away = Math.abs(offset);
    const minutes = Math.floor((away % 3600) / 60);
    const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(away / 3600))}${minutes === 0 ? "" : `:${two(minutes)}`}`;
    return clock + fraction + zone;
  });
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
