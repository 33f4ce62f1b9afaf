import { asBuffer } from "../../port/bytes.ts";

/** One effect of a write: a document as it is now, or its end. */
export interface DocumentChange {
  readonly id: number;
  readonly version: number;
  /** The encoded document; undefined for a delete. */
  readonly document: Uint8Array | undefined;
}

/**
 * A batch of changes as one record of the collection's log.
 * u32 count, each: f64 id · f64 version · u32 length, 0xffffffff for a delete · document. Little endian.
 */
const deleted = 0xffffffff;

export function encodeChanges(changes: readonly DocumentChange[]): Buffer {
  let length = 4;
  for (const { document } of changes) length += 20 + (document?.length ?? 0);
  const out = Buffer.allocUnsafe(length);
  let at = out.writeUInt32LE(changes.length, 0);
  for (const { id, version, document } of changes) {
    out.writeDoubleLE(id, at);
    out.writeDoubleLE(version, at + 8);
    out.writeUInt32LE(document === undefined ? deleted : document.length, at + 16);
    at += 20;
    if (document !== undefined) {
      out.set(document, at);
      at += document.length;
    }
  }
  return out;
}

export function* decodeChanges(given: Uint8Array): Iterable<DocumentChange> {
  const bytes = asBuffer(given);
  let at = 4;
  for (let left = bytes.readUInt32LE(0); left > 0; left--) {
    const id = bytes.readDoubleLE(at);
    const version = bytes.readDoubleLE(at + 8);
    const length = bytes.readUInt32LE(at + 16);
    at += 20;
    const document = length === deleted ? undefined : bytes.subarray(at, at + length);
    yield { id, version, document };
    at += document?.length ?? 0;
  }
}

/** The ids alone, without a look at the documents. */
export function* changedIds(given: Uint8Array): Iterable<number> {
  const bytes = asBuffer(given);
  let at = 4;
  for (let left = bytes.readUInt32LE(0); left > 0; left--) {
    yield bytes.readDoubleLE(at);
    const length = bytes.readUInt32LE(at + 16);
    at += 20 + (length === deleted ? 0 : length);
  }
}
