import assert from "node:assert/strict";
import { asBuffer, copyInto } from "./bytes.ts";
import type { Bytes, WriteOp } from "./store.ts";

/**
 * A commit as the log holds it, one op after another: u32 length of the key, its highest bit set for a delete · u32 length of the
 * value · key · value. Big endian.
 */
const headBytes = 8;
const deleteBit = 0x8000_0000;

export function entryBytes(ops: readonly WriteOp[]): number {
  let bytes = 0;
  for (const op of ops) bytes += headBytes + op.key.length + (op.kind === "put" ? op.value.length : 0);
  return bytes;
}

/** Fills memory of `entryBytes`. */
export function encodeEntry(target: Buffer, ops: readonly WriteOp[]): void {
  let at = 0;
  for (const op of ops) {
    const { key } = op;
    const isPut = op.kind === "put";
    at = target.writeUInt32BE(isPut ? key.length : (key.length | deleteBit) >>> 0, at);
    at = target.writeUInt32BE(isPut ? op.value.length : 0, at);
    at = copyInto(target, at, key);
    if (isPut) at = copyInto(target, at, op.value);
  }
  assert(at === target.length, "an entry fills its place");
}

/** Where the ops of an entry lie in it: `valueEnd` is -1 for a delete. */
export function forEachOp(bytes: Bytes, visit: (keyStart: number, valueStart: number, valueEnd: number) => void): void {
  const entry = asBuffer(bytes);
  for (let at = 0; at < entry.length; ) {
    const keyLength = entry.readUInt32BE(at);
    const valueLength = entry.readUInt32BE(at + 4);
    const keyStart = at + headBytes;
    const isDelete = keyLength >= deleteBit;
    const valueStart = keyStart + (isDelete ? keyLength - deleteBit : keyLength);
    at = valueStart + valueLength;
    if (at > entry.length) throw new RangeError("an entry of the commit log is cut short");
    visit(keyStart, valueStart, isDelete ? -1 : at);
  }
}

function opAt(entry: Buffer, keyStart: number, valueStart: number, valueEnd: number): WriteOp {
  const key = entry.subarray(keyStart, valueStart);
  return valueEnd < 0 ? { kind: "delete", key } : { kind: "put", key, value: entry.subarray(valueStart, valueEnd) };
}

/** The ops of an entry in their order, as views of its memory. */
export function decodeOps(bytes: Bytes): WriteOp[] {
  const entry = asBuffer(bytes);
  const ops: WriteOp[] = [];
  forEachOp(entry, (keyStart, valueStart, valueEnd) => ops.push(opAt(entry, keyStart, valueStart, valueEnd)));
  return ops;
}

/**
 * What entries leave, one after another, as one list in the order of the keys: of each key its last op. Views of the entries' memory.
 * Ascending keys let a B-tree fill a page before it goes on to the next.
 */
export function foldEntries(entries: readonly Bytes[]): WriteOp[] {
  const last = new Map<string, WriteOp>();
  for (const bytes of entries) {
    const entry = asBuffer(bytes);
    forEachOp(entry, (keyStart, valueStart, valueEnd) => {
      last.set(entry.latin1Slice(keyStart, valueStart), opAt(entry, keyStart, valueStart, valueEnd));
    });
  }
  const names = [...last.keys()].sort();
  return names.map((name) => last.get(name)!);
}
