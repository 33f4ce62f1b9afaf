import type { FileHandle } from "node:fs/promises";
import type { VectorGraphInput } from "../../port/vector-graph.ts";
import type { RowBits } from "./footer.ts";
import { headBytes } from "./graph-memory.ts";
import type { RowOrder } from "./row-order.ts";
import { type Scale, scaleRows } from "./scale.ts";

/**
 * A graph as `wasm/graph.ts` walks it. Little endian: a head of u32 (links of a row, links of a row on each upper level,
 * upper levels, the row to begin with, upper links of all rows, nothing) · the rows · the links of each row · the upper
 * links · the centre (f32), which is taken off every row before it is shortened: else rows that lie far from 0 and near each
 * other would be alike. Where links end early, `noLink` stands. A row has a length that is a multiple of 16:
 *
 * - of 8 bits: its numbers · factor (f32) · bias (f32) · sum of the numbers (i32) · where its upper
 *   links begin (u32);
 * - of 4 bits: from 0 to 15 around 7.5, the first half of the numbers in the lower bits, the second in the upper ones · half the factor
 *   (f32) · bias (f32) · where its upper links begin (u32).
 */
export interface WalkLayout {
  readonly bits: RowBits;
  readonly width: number;
  readonly upperWidth: number;
  readonly levels: number;
  readonly entry: number;
  readonly rowBytes: number;
  /** Where the rows, the links and the upper links begin, and where all ends. */
  readonly rowsAt: number;
  readonly linksAt: number;
  readonly upperAt: number;
  readonly centreAt: number;
  readonly bytes: number;
}

export const noLink = 0xffff_ffff;
const rowTailBytes = { 4: 12, 8: 16 } as const;
/** What the greatest number of a row is shortened to. */
const numberMax = { 4: 7.5, 8: 127 } as const;

export function walkLayout(head: Uint32Array, rowCount: number, dim: number, bits: RowBits): WalkLayout {
  const [width = 0, upperWidth = 0, levels = 0, entry = 0, upperCount = 0] = head;
  const rowBytes = rowBytesOf(dim, bits);
  const rowsAt = headBytes;
  const linksAt = rowsAt + rowCount * rowBytes;
  const upperAt = linksAt + rowCount * width * 4;
  const centreAt = upperAt + upperCount * 4;
  const bytes = centreAt + dim * 4;
  return { bits, width, upperWidth, levels, entry, rowBytes, rowsAt, linksAt, upperAt, centreAt, bytes };
}

export function rowBytesOf(dim: number, bits: RowBits): number {
  return Math.ceil(((bits === 4 ? Math.ceil(dim / 2) : dim) + rowTailBytes[bits]) / 16) * 16;
}

/** What usearch saves: rows (u32), bytes of each (u32), the rows, a head of 64 bytes, and then the graph's own. */
const savedHeadBytes = 64;
/** Five u64: rows, links of a row above the lowest level, on the lowest, the highest level, the row to begin with. */
const savedGraphHeadBytes = 40;
/** Before the links of a row: its key (u64) and its level (i16). */
const savedRowHeadBytes = 10;

/** Rows that are written together. */
const pieceRows = 1_024;
const nothing = new Uint8Array(0);

/** What a graph to walk is made of, beside what usearch has saved. */
export interface WalkInput extends VectorGraphInput {
  readonly order: RowOrder;
  /** Slots that are filled. Where these are all, the file has the rows in their own order, else in that of the slots. */
  readonly slots: number;
  readonly scale: Scale;
  readonly centre: Float32Array;
  readonly bits: RowBits;
}

/** What usearch has saved, as a graph to walk. */
export async function* walkPieces(saved: FileHandle, input: WalkInput): AsyncGenerator<Uint8Array> {
  const { order, slots, centre } = input;
  const isWhole = slots === order.rowCount;
  const placeOf = (slot: number) => (isWhole ? order.rowOf(slot) : slot);
  const [rowCount, savedRowBytes] = new Uint32Array(await read(saved, 0, 8)) as unknown as [number, number];
  const graphAt = 8 + rowCount * savedRowBytes + savedHeadBytes;
  const [, upperWidth, width, levels, entry] = Array.from(
    new BigUint64Array(await read(saved, graphAt, savedGraphHeadBytes)),
    Number,
  ) as [number, number, number, number, number];
  const levelsAt = graphAt + savedGraphHeadBytes;
  const levelOf = new Int16Array(await read(saved, levelsAt, rowCount * 2));
  /** By place. */
  const upperFrom = new Uint32Array(rowCount);
  let upperCount = 0;
  for (let slot = 0; slot < rowCount; slot++) {
    upperFrom[placeOf(slot)] = upperCount;
    upperCount += levelOf[slot]! * upperWidth;
  }
  const [levelsUsed, first] = rowCount === 0 ? [0, 0] : [levels, placeOf(entry)];
  yield bytesOf(Uint32Array.of(width, upperWidth, levelsUsed, first, upperCount, 0, 0, 0));
  for (let from = 0; from < rowCount; from += pieceRows) {
    const to = Math.min(rowCount, from + pieceRows);
    const rows = isWhole
      ? input.rows.subarray(from * input.dim, to * input.dim)
      : order.rowsOf(input.rows, input.dim, from, to);
    yield walkRows({ ...input, rows }, upperFrom.subarray(from, to));
  }
  const links = new Uint32Array(rowCount * width).fill(noLink);
  const upper = new Uint32Array(upperCount).fill(noLink);
  let at = levelsAt + rowCount * 2;
  for (let from = 0; from < rowCount; from += pieceRows) {
    const to = Math.min(rowCount, from + pieceRows);
    const upperLists = levelOf.subarray(from, to).reduce((sum, level) => sum + level, 0);
    const length = (to - from) * (savedRowHeadBytes + 4 + 4 * width) + upperLists * (4 + 4 * upperWidth);
    const rows = new DataView(await read(saved, at, length));
    let byte = 0;
    const take = (list: Uint32Array, start: number, room: number) => {
      const count = rows.getUint32(byte, true);
      for (let i = 0; i < count; i++) list[start + i] = placeOf(rows.getUint32(byte + 4 + 4 * i, true));
      byte += 4 + 4 * room;
    };
    for (let slot = from; slot < to; slot++) {
      const place = placeOf(slot);
      byte += savedRowHeadBytes;
      take(links, place * width, width);
      for (let level = 0; level < levelOf[slot]!; level++) {
        take(upper, upperFrom[place]! + level * upperWidth, upperWidth);
      }
    }
    // The caller pauses after each piece.
    yield nothing;
    at += length;
  }
  for (let from = 0; from < links.length; from += pieceRows * width) {
    yield bytesOf(links.subarray(from, from + pieceRows * width));
  }
  yield bytesOf(upper);
  yield new Uint8Array(centre.buffer, centre.byteOffset, centre.byteLength);
}

/**
 * Each number as a part of the row's greatest, all without the centre. The bias is what the centre has to do with a row: by
 * l2 less the square, else the product with the centre.
 */
function walkRows(input: WalkInput, upperFrom: Uint32Array): Uint8Array {
  const { dim, distance, scale, centre, bits } = input;
  const rowBytes = rowBytesOf(dim, bits);
  const count = upperFrom.length;
  const scaled = scaleRows(input, scale, 0, count);
  const out = new DataView(new ArrayBuffer(count * rowBytes));
  const values = new Float64Array(dim);
  for (let row = 0; row < count; row++) {
    let max = 0;
    let squared = 0;
    let product = 0;
    for (let i = 0; i < dim; i++) {
      const value = scaled[row * dim + i]! - centre[i]!;
      values[i] = value;
      max = Math.max(max, Math.abs(value));
      squared += value * value;
      product += value * centre[i]!;
    }
    const perUnit = max === 0 ? 0 : numberMax[bits] / max;
    const at = row * rowBytes;
    const tail = at + rowBytes - rowTailBytes[bits];
    if (bits === 4) putHalved(out, at, values, perUnit);
    else out.setInt32(tail + 8, putWhole(out, at, values, perUnit), true);
    out.setFloat32(tail, max / numberMax[bits] / (bits === 4 ? 2 : 1), true);
    out.setFloat32(tail + 4, distance === "l2" ? -squared : product, true);
    out.setUint32(at + rowBytes - 4, upperFrom[row]!, true);
  }
  return new Uint8Array(out.buffer);
}

/** Returns the sum. */
function putWhole(out: DataView, at: number, values: Float64Array, perUnit: number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const whole = Math.round(values[i]! * perUnit);
    sum += whole;
    out.setInt8(at + i, whole);
  }
  return sum;
}

function putHalved(out: DataView, at: number, values: Float64Array, perUnit: number): void {
  const half = Math.ceil(values.length / 2);
  const short = (i: number) => Math.min(15, Math.round(values[i]! * perUnit + numberMax[4]));
  for (let i = 0; i < half; i++) {
    out.setUint8(at + i, short(i) | ((half + i < values.length ? short(half + i) : 0) << 4));
  }
}

async function read(file: FileHandle, at: number, length: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = length === 0 ? { bytesRead: 0 } : await file.read(bytes, 0, length, at);
  if (bytesRead !== length) throw new Error("what usearch saved ends early");
  return bytes.buffer;
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
