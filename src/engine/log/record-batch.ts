import { asBuffer } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import { damaged as damagedData, type EngineError } from "../errors.ts";
import type { Steps } from "../turns.ts";
import { expandedBytesMax, expandRecords } from "./compact-batch.ts";

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
 *  56 f64 bytes stored in the partition before this batch · u32 body length · u32 zero, in version 2 what the records
 *     take in the form below
 * record, in version 1; in version 2 records are compact (`compact-batch.ts`) and are read as if they were not
 *   u32 length of what follows · i32 key length, -1 for none · i32 value length, -1 for none · u32 header count
 *   f64 timestamp · key · value · headers: u32 name length, name, i32 value length or -1, value
 */
export const headerBytes = 72;
const recordFixedBytes = 24;
const magic = 0xb7;
const version = 1;
const compactVersion = 2;

export interface BatchHeader {
  readonly count: number;
  readonly baseOffset: number;
  readonly appendTimeMs: number;
  readonly maxTimestampMs: number;
  /** Running maxima never fall along the partition, so both allow binary search. */
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
  /** Size of the expanded records, where they are compact. */
  readonly expandedBytes?: number | undefined;
}

/**
 * Encodes records without headers whose parts the caller writes in place, for example by decoding text straight into
 * the batch: no buffer is made for a part, and none copied.
 */
export class PlainBatchWriter {
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
    return completeBatch(this.bytes, this.#count, this.#maxTimestampMs);
  }
}

/** A batch of which everything but the header is written, after room for it. */
export function completeBatch(
  bytes: Buffer,
  count: number,
  maxTimestampMs: number,
  expandedBytes?: number,
): EncodedBatch {
  bytes.writeUInt32LE(crc32(bytes.subarray(headerBytes)), 8);
  return { bytes, count, maxTimestampMs, expandedBytes };
}

export function encodeBatch(records: readonly RecordInput[], nowMs: number): EncodedBatch {
  const writer = new BatchWriter(guessBytes(records));
  for (const record of records) writeRecord(writer, record, nowMs);
  return writer.finish();
}

const recordsPerStep = 128;

/** The same for many records. */
export function* encodeBatchInSteps(records: readonly RecordInput[], nowMs: number): Steps<EncodedBatch> {
  const writer = new BatchWriter(guessBytes(records));
  for (const [i, record] of records.entries()) {
    if (i % recordsPerStep === recordsPerStep - 1) yield;
    writeRecord(writer, record, nowMs);
  }
  return writer.finish();
}

function writeRecord(writer: BatchWriter, { key, value, headers, timestampMs }: RecordInput, nowMs: number): void {
  writer.begin(timestampMs ?? nowMs, key, value);
  if (headers !== undefined) for (const header of headers) writer.header(header.key, header.value);
  writer.end();
}

/** Exact where the headers' text is ASCII, as nearly all of it is. */
function guessBytes(records: readonly RecordInput[]): number {
  let bytes = 0;
  for (const { key, value, headers } of records) {
    bytes += recordFixedBytes + (key?.length ?? 0) + (value?.length ?? 0);
    if (headers === undefined) continue;
    for (const header of headers) bytes += 8 + header.key.length + (header.value?.length ?? 0);
  }
  return bytes;
}

/** Text up to this length is written by a loop, which is then several times as fast as a native call. */
const shortTextLength = 64;

/** Writes records one after another into one buffer, which grows where the guess was too small. */
export class BatchWriter {
  #bytes: Buffer;
  #at = headerBytes;
  #start = 0;
  #headers = 0;
  #count = 0;
  #maxTimestampMs = 0;

  /** `bytesGuess` is about what the records will take. */
  constructor(bytesGuess: number) {
    this.#bytes = Buffer.allocUnsafe(headerBytes + bytesGuess);
  }

  begin(timestampMs: number, key: Uint8Array | undefined, value: Uint8Array | undefined): void {
    const keyLength = key === undefined ? 0 : key.length;
    this.#reserve(recordFixedBytes + keyLength + (value === undefined ? 0 : value.length));
    const bytes = this.#bytes;
    this.#start = this.#at;
    putU32(bytes, this.#at + 4, key === undefined ? -1 : keyLength);
    putU32(bytes, this.#at + 8, value === undefined ? -1 : value.length);
    bytes.writeDoubleLE(timestampMs, this.#at + 16);
    this.#at += recordFixedBytes;
    if (key !== undefined) bytes.set(key, this.#at);
    this.#at += keyLength;
    if (value !== undefined) {
      bytes.set(value, this.#at);
      this.#at += value.length;
    }
    this.#headers = 0;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
  }

  header(name: string, value: HeaderInput["value"]): void {
    this.#text(name);
    this.#headers++;
    if (typeof value === "string") {
      this.#text(value);
      return;
    }
    this.#reserve(4 + (value?.length ?? 0));
    putU32(this.#bytes, this.#at, value === undefined ? -1 : value.length);
    this.#at += 4;
    if (value === undefined) return;
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  end(): void {
    putU32(this.#bytes, this.#start, this.#at - this.#start - 4);
    putU32(this.#bytes, this.#start + 12, this.#headers);
    this.#count++;
  }

  finish(): EncodedBatch {
    return completeBatch(this.#bytes.subarray(0, this.#at), this.#count, this.#maxTimestampMs);
  }

  /** The text's length and its UTF-8. */
  #text(text: string): void {
    const { length } = text;
    this.#reserve(4 + length);
    const bytes = this.#bytes;
    const start = this.#at + 4;
    let written = 0;
    if (length <= shortTextLength) {
      while (written < length) {
        const code = text.charCodeAt(written);
        if (code >= 0x80) break;
        bytes[start + written++] = code;
      }
    }
    if (written < length) {
      this.#reserve(4 + 3 * length);
      written = this.#bytes.write(text, start);
    }
    putU32(this.#bytes, this.#at, written);
    this.#at = start + written;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#at + more, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }
}

/** Without the checks of Buffer's own methods, which take longer than the writing. */
function putU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >> 8;
  bytes[at + 2] = value >> 16;
  bytes[at + 3] = value >> 24;
}

/** The batch without some of its records, by their number in it. */
export function withoutRecords(batch: EncodedBatch, dropped: ReadonlySet<number>): EncodedBatch {
  const { expandedBytes, count, maxTimestampMs } = batch;
  const bytes = expandedBytes === undefined ? batch.bytes : expand(batch.bytes, count, maxTimestampMs, expandedBytes);
  const pieces: Buffer[] = [bytes.subarray(0, headerBytes)];
  let at = headerBytes;
  for (let record = 0; record < count; record++) {
    const end = at + 4 + bytes.readUInt32LE(at);
    if (!dropped.has(record)) pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return completeBatch(Buffer.concat(pieces), pieces.length - 1, maxTimestampMs);
}

/** A batch's header and its records as if they were not compact. */
function expand(bytes: Buffer, count: number, maxTimestampMs: number, expandedBytes: number): Buffer {
  if (expandedBytes > expandedBytesMax) throw damaged("length of records");
  const expanded = Buffer.allocUnsafe(headerBytes + expandedBytes);
  bytes.copy(expanded, 0, 0, headerBytes);
  if (!expandRecords(bytes.subarray(headerBytes), count, maxTimestampMs, expanded, headerBytes)) {
    throw damaged("compact records");
  }
  return expanded;
}

/** Completes a batch for its place, which its key names: found under another key, it is damaged. */
export function sealBatch(
  batch: EncodedBatch,
  key: Uint8Array,
  place: Omit<BatchHeader, "count" | "maxTimestampMs" | "bodyBytes">,
): void {
  const { bytes } = batch;
  bytes[0] = magic;
  bytes[1] = batch.expandedBytes === undefined ? version : compactVersion;
  bytes.writeUInt16LE(0, 2);
  bytes.writeUInt32LE(batch.count, 12);
  bytes.writeDoubleLE(place.baseOffset, 16);
  bytes.writeDoubleLE(place.appendTimeMs, 24);
  bytes.writeDoubleLE(batch.maxTimestampMs, 32);
  bytes.writeDoubleLE(place.prefixTimestampMs, 40);
  bytes.writeDoubleLE(place.prefixRetentionMs, 48);
  bytes.writeDoubleLE(place.bytesBefore, 56);
  bytes.writeUInt32LE(bytes.length - headerBytes, 64);
  bytes.writeUInt32LE(batch.expandedBytes ?? 0, 68);
  bytes.writeUInt32LE(headerSum(bytes, key), 4);
}

function headerSum(bytes: Buffer, key: Uint8Array): number {
  return crc32(bytes.subarray(8, headerBytes), crc32(key));
}

function damaged(what: string): EngineError {
  return damagedData(`a stored record batch is damaged (${what})`);
}

/** Reads and verifies the header of the batch under a key; `stored` may be longer. */
export function decodeHeader(key: Uint8Array, stored: Uint8Array): BatchHeader {
  const bytes = asBuffer(stored);
  if (bytes.length < headerBytes) throw damaged("short header");
  if (bytes[0] !== magic || bytes.readUInt16LE(2) !== 0) throw damaged("unknown format");
  if (bytes[1] !== version && bytes[1] !== compactVersion) throw damaged(`format version ${bytes[1]}`);
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

  constructor(key: Uint8Array, stored: Uint8Array) {
    const bytes = asBuffer(stored);
    this.header = decodeHeader(key, bytes);
    const { count, baseOffset, bodyBytes, maxTimestampMs } = this.header;
    if (bytes.length !== headerBytes + bodyBytes) throw damaged("length");
    if (crc32(bytes.subarray(headerBytes)) !== bytes.readUInt32LE(8)) throw damaged("checksum");
    this.bytes = bytes[1] === version ? bytes : expand(bytes, count, maxTimestampMs, bytes.readUInt32LE(68));
    this.#left = count;
    this.offset = baseOffset - 1;
  }

  get endOffset(): number {
    return this.header.baseOffset + this.header.count;
  }

  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    const { bytes } = this;
    const at = this.#at;
    if (at + recordFixedBytes > bytes.length) throw damaged("record");
    this.offset++;
    this.keyLength = bytes.readInt32LE(at + 4);
    this.valueLength = bytes.readInt32LE(at + 8);
    this.headerCount = bytes.readUInt32LE(at + 12);
    this.timestampMs = bytes.readDoubleLE(at + 16);
    this.keyStart = at + recordFixedBytes;
    this.valueStart = this.keyStart + Math.max(this.keyLength, 0);
    this.headersStart = this.valueStart + Math.max(this.valueLength, 0);
    this.#at = at + 4 + bytes.readUInt32LE(at);
    if (this.headersStart > this.#at || this.#at > bytes.length) throw damaged("record");
    return true;
  }

  /** Where in `bytes` the record starts that the cursor stands on. */
  get recordStart(): number {
    return this.keyStart - recordFixedBytes;
  }

  /** Records from the one on that the cursor stands on. */
  get recordsLeft(): number {
    return this.#left + 1;
  }

  /** Moves to the last of so many records from this one on, which take so many bytes together. */
  skip(records: number, bytes: number): void {
    this.#at = this.recordStart + bytes;
    this.#left -= records - 1;
    this.offset += records - 1;
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
    const end = this.recordStart + 4 + this.bytes.readUInt32LE(this.recordStart);
    for (let i = 0; i < this.headerCount; i++) {
      if (at + 4 > end) throw damaged("record header");
      const nameLength = this.bytes.readUInt32LE(at);
      if (at + 8 + nameLength > end) throw damaged("record header");
      const key = this.bytes.toString("utf8", at + 4, at + 4 + nameLength);
      at += 4 + nameLength;
      const valueLength = this.bytes.readInt32LE(at);
      at += 4;
      if (at + valueLength > end) throw damaged("record header");
      if (valueLength < 0) headers.push({ key });
      else headers.push({ key, value: this.bytes.subarray(at, at + valueLength) });
      at += Math.max(valueLength, 0);
    }
    return headers;
  }
}
