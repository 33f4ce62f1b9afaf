import type { FixedData } from "../../../engine/sql/batch.ts";

/** Values whose form in Arrow is another than the engine's. They are rare; everything else is sent as it lies. */

/** Offsets and bytes of the texts. */
type TextBuffers = readonly [offsets: Uint8Array, data: Uint8Array];

const uuidBytes = 16;
const uuidCharacters = 36;

export function uuidTexts(data: Uint8Array, start: number, length: number): TextBuffers {
  const text = Buffer.alloc(length * uuidCharacters);
  const offsets = new Int32Array(length + 1);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  for (let i = 0; i < length; i++) {
    const at = (start + i) * uuidBytes;
    const hex = bytes.toString("hex", at, at + uuidBytes);
    const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
    text.write(parts.join("-"), i * uuidCharacters, "latin1");
    offsets[i + 1] = (i + 1) * uuidCharacters;
  }
  return [new Uint8Array(offsets.buffer), text];
}

export function enumTexts(values: readonly string[], data: FixedData, start: number, length: number): TextBuffers {
  const encoded = values.map((value) => Buffer.from(value));
  const offsets = new Int32Array(length + 1);
  const chosen: Uint8Array[] = [];
  for (let i = 0; i < length; i++) {
    // Where the value is NULL, the index is anything.
    const value = encoded[Number(data[start + i])];
    if (value !== undefined) chosen.push(value);
    offsets[i + 1] = offsets[i]! + (value?.byteLength ?? 0);
  }
  return [new Uint8Array(offsets.buffer), Buffer.concat(chosen)];
}

const int64Max = 2n ** 63n - 1n;

/** Months and days of 32 bits and nanoseconds of 64; a time that nanoseconds can't hold becomes the longest they can. */
export function intervals(data: BigInt64Array, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(16 * length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < length; i++) {
    const at = 3 * (start + i);
    const nanos = data[at + 2]! * 1000n;
    view.setInt32(16 * i, Number(data[at]), true);
    view.setInt32(16 * i + 4, Number(data[at + 1]), true);
    view.setBigInt64(16 * i + 8, nanos > int64Max ? int64Max : nanos < -int64Max ? -int64Max : nanos, true);
  }
  return bytes;
}

/** Unsigned integers of 16 bytes as signed ones of 32. */
export function widened(data: Uint8Array, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(32 * length);
  for (let i = 0; i < length; i++) bytes.set(data.subarray(16 * (start + i), 16 * (start + i + 1)), 32 * i);
  return bytes;
}
