import { asBuffer } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import type { Reader } from "../../port/store.ts";
import { damaged, EngineError } from "../errors.ts";
import type { SparseVector } from "../search/document.ts";
import { newFloats } from "../search/float-slab.ts";
import { documentKey } from "./collection-store.ts";
import type { FindDocument } from "./write-record.ts";

/** A document as it is stored: its source as JSON text, its vectors by name. */
export interface StoredDocument {
  readonly source: string;
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly sparse: ReadonlyMap<string, SparseVector>;
}

/** A document of a collection with its version, which grows by one with each write. */
export interface VersionedDocument extends StoredDocument {
  readonly id: number;
  readonly version: number;
}

/**
 * u8 format · u32 source length · source, UTF-8 · u16 vector count, each: u16 name length, name, u32 dim, f32 values ·
 * u16 sparse count, each: u16 name length, name, u32 entries, u32 indices, f32 values. Little endian.
 */
const format = 1;

export function encodeDocument(document: StoredDocument): Buffer {
  const sourceBytes = Buffer.byteLength(document.source);
  let length = 9 + sourceBytes;
  for (const [name, values] of document.vectors) length += 6 + Buffer.byteLength(name) + values.length * 4;
  for (const [name, { indices }] of document.sparse) length += 6 + Buffer.byteLength(name) + indices.length * 8;
  const out = Buffer.allocUnsafe(length);
  out[0] = format;
  out.writeUInt32LE(sourceBytes, 1);
  // Text without a character above 127 is copied as it is, which halves the time of the whole.
  const ascii = sourceBytes === document.source.length;
  let at = 5 + out.write(document.source, 5, ascii ? "latin1" : "utf8");
  at = out.writeUInt16LE(document.vectors.size, at);
  for (const [name, values] of document.vectors) {
    at = putName(out, at, name);
    at = out.writeUInt32LE(values.length, at);
    at = putArray(out, at, values);
  }
  at = out.writeUInt16LE(document.sparse.size, at);
  for (const [name, { indices, values }] of document.sparse) {
    at = putName(out, at, name);
    at = out.writeUInt32LE(indices.length, at);
    at = putArray(out, at, indices);
    at = putArray(out, at, values);
  }
  return out;
}

function putName(out: Buffer, at: number, name: string): number {
  const length = out.write(name, at + 2);
  out.writeUInt16LE(length, at);
  return at + 2 + length;
}

function putArray(out: Buffer, at: number, values: Float32Array | Uint32Array): number {
  out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
  return at + values.byteLength;
}

function sourceEndOf(bytes: Buffer): number {
  if (bytes[0] !== format) throw new EngineError("internal", `a stored document has the unknown format ${bytes[0]}`);
  return 5 + bytes.readUInt32LE(1);
}

/** The source alone: vectors are most of a document's bytes, and few readers want them. */
export function decodeSource(stored: Uint8Array): string {
  const bytes = asBuffer(stored);
  return bytes.toString("utf8", 5, sourceEndOf(bytes));
}

/** `take` gives memory for the vectors. */
export function decodeDocument(stored: Uint8Array, take = newFloats): StoredDocument {
  const bytes = asBuffer(stored);
  const sourceEnd = sourceEndOf(bytes);
  const source = bytes.toString("utf8", 5, sourceEnd);
  const vectors = new Map<string, Float32Array>();
  let at = sourceEnd + 2;
  for (let left = bytes.readUInt16LE(sourceEnd); left > 0; left--) {
    const name = nameAt(bytes, at);
    at += 2 + Buffer.byteLength(name);
    const dim = bytes.readUInt32LE(at);
    vectors.set(name, copyTo(take(dim), bytes, at + 4));
    at += 4 + dim * 4;
  }
  const sparse = new Map<string, SparseVector>();
  const sparseCount = bytes.readUInt16LE(at);
  at += 2;
  for (let left = sparseCount; left > 0; left--) {
    const name = nameAt(bytes, at);
    at += 2 + Buffer.byteLength(name);
    const entries = bytes.readUInt32LE(at);
    at += 4;
    const indices = copyTo(new Uint32Array(entries), bytes, at);
    const values = copyTo(new Float32Array(entries), bytes, at + entries * 4);
    sparse.set(name, { indices, values });
    at += entries * 8;
  }
  return { source, vectors, sparse };
}

function nameAt(bytes: Buffer, at: number): string {
  return bytes.toString("utf8", at + 2, at + 2 + bytes.readUInt16LE(at));
}

/** Typed arrays need aligned memory, so the numbers are copied out of the value. */
function copyTo<T extends Float32Array | Uint32Array>(numbers: T, bytes: Buffer, at: number): T {
  const { buffer, byteOffset, byteLength } = numbers;
  new Uint8Array(buffer, byteOffset, byteLength).set(bytes.subarray(at, at + byteLength));
  return numbers;
}

/**
 * What the store keeps under a document's key: u32 crc32 of the rest and the key · f64 version · the document. Little
 * endian.
 */
const storedHeaderBytes = 12;
/** Enough of a stored document to tell its version, which is not verified. */
export const versionBytes = storedHeaderBytes;

export function encodeStored(key: Uint8Array, version: number, document: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(storedHeaderBytes + document.length);
  out.writeDoubleLE(version, 4);
  out.set(document, storedHeaderBytes);
  out.writeUInt32LE(crc32(out.subarray(4), crc32(key)), 0);
  return out;
}

export interface OpenedDocument {
  readonly version: number;
  /** Encoded. */
  readonly document: Uint8Array;
}

/** A stored document, verified to be what was written under this key. */
export function openStored(key: Uint8Array, stored: Uint8Array): OpenedDocument {
  const bytes = asBuffer(stored);
  if (bytes.length < storedHeaderBytes || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4), crc32(key))) {
    throw damaged("a stored document is damaged (checksum)");
  }
  return { version: bytes.readDoubleLE(4), document: bytes.subarray(storedHeaderBytes) };
}

export function decodeStored(id: number, key: Uint8Array, stored: Uint8Array): VersionedDocument {
  const { version, document } = openStored(key, stored);
  return { id, version, ...decodeDocument(document) };
}

export function storedVersion(head: Uint8Array): number {
  return asBuffer(head).readDoubleLE(4);
}

/** How documents of a collection are looked up by a record of its log. */
export function documentsOf(reader: Pick<Reader, "peek">, collectionId: number): FindDocument {
  return (id, version) => {
    const key = documentKey(collectionId, id);
    const stored = reader.peek(key);
    if (stored === undefined) return undefined;
    const found = openStored(key, stored);
    return found.version === version ? found.document : undefined;
  };
}
