import { crc32 } from "node:zlib";
import { asBuffer } from "../../port/bytes.ts";
import { damaged as damagedData, type EngineError } from "../errors.ts";

export interface RecordHeader {
  readonly key: string;
  readonly value?: Uint8Array;
}

/** A header as a writer gives it: text is stored as UTF-8. */
export interface HeaderInput {
  readonly key: string;
  readonly value?: Uint8Array | string | undefined;
}

/** A record as a writer gives it. */
export interface RecordInput {
  readonly key?: Uint8Array | undefined;
  readonly value?: Uint8Array | undefined;
  readonly headers?: readonly HeaderInput[] | undefined;
  readonly timestampMs?: number | undefined;
}

/**
 * One append to one partition, stored as one value.
 *
 * header, 72 bytes, little endian
 *   0 u8 magic · u8 version · u16 zero · u32 crc32 of the key and bytes 8 to 72 · u32 crc32 of the body · u32 record count
 *  16 f64 base offset · f64 append time · f64 largest timestamp
 *  40 f64 largest timestamp of the partition up to here · f64 largest retention time up to here
 *  56 f64 bytes stored in the partition before this batch · u32 body length · u32 zero
 * record
 *   u32 length of what follows · i32 key length, -1 for none · i32 value length, -1 for none · u32 header count
 *   f64 timestamp · key · value · headers: u32 name length, name, i32 value length or -1, value
 */
export const headerBytes = 72;
const recordFixedBytes = 24;
const magic = 0xb7;
const version = 1;

export interface BatchHeader {
  readonly count: number;
  readonly baseOffset: number;
  readonly appendTimeMs: number;
  readonly maxTimestampMs: number;
  /** Running maxima never fall along the partition, so both can be searched by halving. */
  readonly prefixTimestampMs: number;
  readonly prefixRetentionMs: number;
  readonly bytesBefore: number;
  readonly bodyBytes: number;
}

/** A batch with its body encoded; the header follows when its place in the partition is known. */
export interface EncodedBatch {
  readonly bytes: Buffer;
  readonly count: number;
  readonly maxTimestampMs: number;
}

/**
 * Encodes records without headers whose parts the caller writes in place, for example by decoding text straight into
 * the batch: no buffer is made for a part, and none copied.
 */
export class BatchWriter {
  readonly bytes: Buffer;
  readonly #nowMs: number;
  #at = headerBytes;
  #count = 0;
  #maxTimestampMs = 0;

  /** `partBytes` is what all keys and values take together. */
  constructor(records: number, partBytes: number, nowMs: number) {
    this.bytes = Buffer.allocUnsafe(headerBytes + records * recordFixedBytes + partBytes);
    this.#nowMs = nowMs;
  }

  /** Starts a record; the caller writes the key and then the value from the returned place on. -1 is no part. */
  add(keyLength: number, valueLength: number, timestampMs = this.#nowMs): number {
    const { bytes } = this;
    const at = this.#at;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    const parts = Math.max(keyLength, 0) + Math.max(valueLength, 0);
    bytes.writeUInt32LE(recordFixedBytes - 4 + parts, at);
    bytes.writeInt32LE(keyLength, at + 4);
    bytes.writeInt32LE(valueLength, at + 8);
    bytes.writeUInt32LE(0, at + 12);
    bytes.writeDoubleLE(timestampMs, at + 16);
    this.#at = at + recordFixedBytes + parts;
    this.#count++;
    return at + recordFixedBytes;
  }

  finish(): EncodedBatch {
    const { bytes } = this;
    bytes.writeUInt32LE(crc32(bytes.subarray(headerBytes)), 8);
    return { bytes, count: this.#count, maxTimestampMs: this.#maxTimestampMs };
  }
}

export function encodeBatch(records: readonly RecordInput[], nowMs: number): EncodedBatch {
  // Nearly all text is ASCII, so its length is a good guess; looking at each character first would cost more.
  return encodeWithin(records, nowMs, false) ?? encodeWithin(records, nowMs, true)!;
}

function encodedBytes(records: readonly RecordInput[], exact: boolean): number {
  let bytes = headerBytes;
  for (const { key, value, headers } of records) {
    bytes += recordFixedBytes + (key?.length ?? 0) + (value?.length ?? 0);
    if (headers === undefined) continue;
    for (const header of headers) {
      bytes += 8 + (exact ? Buffer.byteLength(header.key) : header.key.length) + valueBytes(header.value, exact);
    }
  }
  return bytes;
}

function valueBytes(value: HeaderInput["value"], exact: boolean): number {
  if (value === undefined) return 0;
  return exact && typeof value === "string" ? Buffer.byteLength(value) : value.length;
}

/** Undefined when the bytes were taken by the texts' lengths, and that was not enough. */
function encodeWithin(records: readonly RecordInput[], nowMs: number, exact: boolean): EncodedBatch | undefined {
  const bytes = Buffer.allocUnsafe(encodedBytes(records, exact));
  let at = headerBytes;
  let maxTimestampMs = 0;
  for (const record of records) {
    const start = at;
    const { key, value, headers } = record;
    const timestampMs = record.timestampMs ?? nowMs;
    if (timestampMs > maxTimestampMs) maxTimestampMs = timestampMs;
    bytes.writeInt32LE(key === undefined ? -1 : key.length, at + 4);
    bytes.writeInt32LE(value === undefined ? -1 : value.length, at + 8);
    bytes.writeUInt32LE(headers?.length ?? 0, at + 12);
    bytes.writeDoubleLE(timestampMs, at + 16);
    at += recordFixedBytes;
    if (key !== undefined) {
      bytes.set(key, at);
      at += key.length;
    }
    if (value !== undefined) {
      bytes.set(value, at);
      at += value.length;
    }
    if (headers !== undefined) at = encodeHeaders(bytes, at, headers, exact);
    if (at < 0) return undefined;
    bytes.writeUInt32LE(at - start - 4, start);
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(headerBytes)), 8);
  return { bytes, count: records.length, maxTimestampMs };
}

/** Returns the place after the headers, or a negative one when there is no room for them. */
function encodeHeaders(bytes: Buffer, start: number, headers: readonly HeaderInput[], exact: boolean): number {
  let at = start;
  for (const { key, value } of headers) {
    at = encodeText(bytes, at, key, exact);
    if (at < 0) return at;
    if (typeof value === "string") {
      at = encodeText(bytes, at, value, exact);
      if (at < 0) return at;
      continue;
    }
    bytes.writeInt32LE(value === undefined ? -1 : value.length, at);
    at += 4;
    if (value !== undefined) {
      bytes.set(value, at);
      at += value.length;
    }
  }
  return at;
}

/** Names and most values of headers are short: a loop is then several times as fast as a native call. */
const shortTextLength = 64;

/** The text's length and its UTF-8; returns the place after it, or a negative one for text that is not ASCII. */
function encodeText(bytes: Buffer, at: number, text: string, exact: boolean): number {
  const start = at + 4;
  let { length } = text;
  if (exact) length = bytes.write(text, start);
  else if (length <= shortTextLength) {
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return -1;
      bytes[start + i] = code;
    }
  } else if (Buffer.byteLength(text) !== length) return -1;
  else bytes.latin1Write(text, start);
  bytes.writeUInt32LE(length, at);
  return start + length;
}

/** The batch without some of its records, by their number in it. */
export function withoutRecords(batch: EncodedBatch, dropped: ReadonlySet<number>): EncodedBatch {
  const kept: Buffer[] = [batch.bytes.subarray(0, headerBytes)];
  let at = headerBytes;
  for (let record = 0; record < batch.count; record++) {
    const end = at + 4 + batch.bytes.readUInt32LE(at);
    if (!dropped.has(record)) kept.push(batch.bytes.subarray(at, end));
    at = end;
  }
  const bytes = Buffer.concat(kept);
  bytes.writeUInt32LE(crc32(bytes.subarray(headerBytes)), 8);
  return { bytes, count: kept.length - 1, maxTimestampMs: batch.maxTimestampMs };
}

/** Completes a batch for its place, which its key names: found under another key, it is damaged. */
export function sealBatch(
  batch: EncodedBatch,
  key: Uint8Array,
  place: Omit<BatchHeader, "count" | "maxTimestampMs" | "bodyBytes">,
): void {
  const { bytes } = batch;
  bytes[0] = magic;
  bytes[1] = version;
  bytes.writeUInt16LE(0, 2);
  bytes.writeUInt32LE(batch.count, 12);
  bytes.writeDoubleLE(place.baseOffset, 16);
  bytes.writeDoubleLE(place.appendTimeMs, 24);
  bytes.writeDoubleLE(batch.maxTimestampMs, 32);
  bytes.writeDoubleLE(place.prefixTimestampMs, 40);
  bytes.writeDoubleLE(place.prefixRetentionMs, 48);
  bytes.writeDoubleLE(place.bytesBefore, 56);
  bytes.writeUInt32LE(bytes.length - headerBytes, 64);
  bytes.writeUInt32LE(0, 68);
  bytes.writeUInt32LE(headerSum(bytes, key), 4);
}

function headerSum(bytes: Buffer, key: Uint8Array): number {
  return crc32(bytes.subarray(8, headerBytes), crc32(key));
}

function damaged(what: string): EngineError {
  return damagedData(`a stored record batch is damaged (${what})`);
}

/** Reads and verifies the header of the batch under a key; `given` may be longer. */
export function decodeHeader(key: Uint8Array, given: Uint8Array): BatchHeader {
  const bytes = asBuffer(given);
  if (bytes.length < headerBytes) throw damaged("short header");
  if (bytes[0] !== magic || bytes.readUInt16LE(2) !== 0) throw damaged("unknown format");
  if (bytes[1] !== version) throw damaged(`format version ${bytes[1]}`);
  if (bytes.readUInt32LE(4) !== headerSum(bytes, key)) throw damaged("header checksum");
  return {
    count: bytes.readUInt32LE(12),
    baseOffset: bytes.readDoubleLE(16),
    appendTimeMs: bytes.readDoubleLE(24),
    maxTimestampMs: bytes.readDoubleLE(32),
    prefixTimestampMs: bytes.readDoubleLE(40),
    prefixRetentionMs: bytes.readDoubleLE(48),
    bytesBefore: bytes.readDoubleLE(56),
    bodyBytes: bytes.readUInt32LE(64),
  };
}

/**
 * Walks the records of a batch without allocating: `next()` moves to a record, whose parts are positions in `bytes`.
 * The checksum is verified before the first record is seen.
 */
export class BatchCursor {
  readonly bytes: Buffer;
  readonly header: BatchHeader;
  offset = 0;
  timestampMs = 0;
  keyStart = 0;
  /** -1: the record has no key. */
  keyLength = -1;
  valueStart = 0;
  /** -1: the record has no value. */
  valueLength = -1;
  headerCount = 0;
  headersStart = 0;
  #at = headerBytes;
  #left: number;

  constructor(key: Uint8Array, given: Uint8Array) {
    this.bytes = asBuffer(given);
    this.header = decodeHeader(key, this.bytes);
    if (this.bytes.length !== headerBytes + this.header.bodyBytes) throw damaged("length");
    if (crc32(this.bytes.subarray(headerBytes)) !== this.bytes.readUInt32LE(8)) throw damaged("checksum");
    this.#left = this.header.count;
    this.offset = this.header.baseOffset - 1;
  }

  get endOffset(): number {
    return this.header.baseOffset + this.header.count;
  }

  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    const { bytes } = this;
    const at = this.#at;
    this.offset++;
    this.keyLength = bytes.readInt32LE(at + 4);
    this.valueLength = bytes.readInt32LE(at + 8);
    this.headerCount = bytes.readUInt32LE(at + 12);
    this.timestampMs = bytes.readDoubleLE(at + 16);
    this.keyStart = at + recordFixedBytes;
    this.valueStart = this.keyStart + Math.max(this.keyLength, 0);
    this.headersStart = this.valueStart + Math.max(this.valueLength, 0);
    this.#at = at + 4 + bytes.readUInt32LE(at);
    return true;
  }

  /** Moves to the record at an offset of this batch. */
  seek(offset: number): boolean {
    while (this.offset < offset) if (!this.next()) return false;
    return true;
  }

  get key(): Buffer | undefined {
    return this.keyLength < 0 ? undefined : this.bytes.subarray(this.keyStart, this.keyStart + this.keyLength);
  }

  get value(): Buffer | undefined {
    return this.valueLength < 0 ? undefined : this.bytes.subarray(this.valueStart, this.valueStart + this.valueLength);
  }

  get headers(): RecordHeader[] {
    const headers: RecordHeader[] = [];
    let at = this.headersStart;
    for (let i = 0; i < this.headerCount; i++) {
      const nameLength = this.bytes.readUInt32LE(at);
      const key = this.bytes.toString("utf8", at + 4, at + 4 + nameLength);
      at += 4 + nameLength;
      const valueLength = this.bytes.readInt32LE(at);
      at += 4;
      if (valueLength < 0) headers.push({ key });
      else headers.push({ key, value: this.bytes.subarray(at, at + valueLength) });
      at += Math.max(valueLength, 0);
    }
    return headers;
  }
}
