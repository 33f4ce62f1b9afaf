import { asBuffer } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import type { Bytes, Reader, WriteOp } from "../../port/store.ts";
import { damaged } from "../errors.ts";
import { logKey, partitionKey, partitionNumber, prefixRange, readU32, readU64, tables } from "../keys.ts";
import { decode } from "../stored-value.ts";
import { decodePartition } from "./partition-state.ts";
import { decodeHeader, headerBytes } from "./record-batch.ts";

/**
 * A value of the journal that formats 2 to 6 had: u32 crc32 of the rest, then for each batch u64 stream · u32 partition · u32 length · the
 * batch. Big endian.
 */
const sumBytes = 4;
const batchHeadBytes = 16;

/** Finds out which batches of the journal are not in the log yet. */
export class JournaledBatches {
  readonly #reader: Reader;
  readonly #streams: Set<number>;
  /** What the log holds, or has held, of a partition. */
  readonly #ends = new Map<number, number>();

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#streams = new Set();
    for (const { value } of reader.range(prefixRange(tables.stream))) {
      this.#streams.add(decode<{ readonly id: number }>(value).id);
    }
  }

  /** Puts the batches of a value under the log's keys: those of dropped streams, and those that are there, are left out. */
  move(value: Bytes): WriteOp[] {
    const bytes = asBuffer(value);
    if (bytes.length < sumBytes || bytes.readUInt32BE() !== crc32(bytes.subarray(sumBytes))) {
      throw damaged("a value of the log's journal is damaged (checksum)");
    }
    const ops: WriteOp[] = [];
    for (let at = sumBytes; at < bytes.length; ) {
      const stream = readU64(bytes, at);
      const partition = readU32(bytes, at + 8);
      const start = at + batchHeadBytes;
      at = start + readU32(bytes, at + 12);
      const base = bytes.readDoubleLE(start + 16);
      if (!this.#streams.has(stream) || base < this.#end(stream, partition)) continue;
      ops.push({ kind: "put", key: logKey(stream, partition, base), value: Buffer.from(bytes.subarray(start, at)) });
    }
    return ops;
  }

  #end(stream: number, partition: number): number {
    const place = partitionNumber(stream, partition);
    const known = this.#ends.get(place);
    if (known !== undefined) return known;
    const stored = this.#reader.get(partitionKey(stream, partition));
    let end = stored === undefined ? 0 : decodePartition(stored).storedStart;
    const range = { from: logKey(stream, partition, 0), to: logKey(stream, partition + 1, 0), reverse: true, limit: 1 };
    for (const key of this.#reader.keys(range)) {
      const { baseOffset, count } = decodeHeader(key, this.#reader.head(key, headerBytes)!);
      end = Math.max(end, baseOffset + count);
    }
    this.#ends.set(place, end);
    return end;
  }
}
