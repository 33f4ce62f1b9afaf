import { type BatchCursor, completeBatch, type EncodedBatch, headerBytes } from "../../../engine/log/record-batch.ts";
import { type Global, instantiate } from "../../../engine/web-assembly.ts";
import { recordCodecBinary } from "./codec-binary.ts";

/** What wasm/records.ts exports. */
interface Exports {
  prepare(): void;
  encode(
    from: number,
    count: number,
    offset: number,
    to: number,
    limit: number,
    roomEnd: number,
    first: number,
  ): number;
  decode(from: number, end: number, to: number, roomEnd: number, nowMs: number): number;
  readonly writtenTo: Global;
  readonly readTo: Global;
  readonly maxTimestampMs: Global;
}

const pageBytes = 65_536;
const inputBytesMax = 1024 * 1024;
const outputBytesMax = 2 * 1024 * 1024;
/** Loads and stores of 16 bytes may run over an end. */
const slackBytes = 64;
const inputStart = pageBytes;
const outputStart = inputStart + inputBytesMax + pageBytes;
const outputEnd = outputStart + outputBytesMax;

/**
 * Records between JSON and their stored form by SIMD. 100 records of 200 bytes take 15 to 20 µs to decode where
 * JSON.parse, the schema and the decoding of base64 took 75, and 6 to 10 µs to encode where JavaScript took 90.
 */
class RecordCodec {
  readonly #module: Exports;
  readonly #memory: Buffer;

  constructor() {
    const { exports, memory } = instantiate(recordCodecBinary, outputEnd + slackBytes + pageBytes);
    this.#module = exports as Exports;
    this.#module.prepare();
    this.#memory = memory;
  }

  /**
   * The batch in the body of an append; undefined when the body is not of the plainest form, or wrong: whoever reads it
   * then tells what is.
   */
  decode(
    body: Buffer,
    nowMs: number,
    allocate: (bytes: number) => Buffer = Buffer.allocUnsafe,
  ): EncodedBatch | undefined {
    if (body.length > inputBytesMax) return undefined;
    const memory = this.#memory;
    memory.set(body, inputStart);
    const end = inputStart + body.length;
    memory.fill(0, end, end + slackBytes);
    const count = this.#module.decode(inputStart, end, outputStart, outputEnd, nowMs);
    if (count < 0) return undefined;
    const { writtenTo, maxTimestampMs } = this.#module;
    const bytes = allocate(headerBytes + writtenTo.value - outputStart);
    memory.copy(bytes, headerBytes, outputStart, writtenTo.value);
    return completeBatch(bytes, count, maxTimestampMs.value);
  }

  /**
   * The records from the cursor's on as JSON text, each after a comma, or each but the first when `first` is set: as
   * many as end within `bytesMax`, and at most `recordsMax`. The cursor moves on to the last of them. Undefined when not even the one it stands on
   * can be written here, because it is too large or does not end in time. Valid until the next call.
   *
   * A record's text is longer than the record: no more of the batch is needed here than may be written.
   */
  encode(cursor: BatchCursor, bytesMax: number, first: boolean, recordsMax = Infinity): Buffer | undefined {
    if (bytesMax <= 0) return undefined;
    const { bytes, recordStart } = cursor;
    const memory = this.#memory;
    const end = recordStart + Math.min(inputBytesMax, bytesMax);
    bytes.copy(memory, inputStart, recordStart, end);
    const limit = Math.min(outputStart + bytesMax, outputEnd);
    const { offset } = cursor;
    const most = Math.min(cursor.recordsLeft, recordsMax);
    const wanted = bytes.length <= end ? most : wholeRecords(bytes, recordStart, end, most);
    const count = this.#module.encode(inputStart, wanted, offset, outputStart, limit, outputEnd, first ? 1 : 0);
    if (count === 0) return undefined;
    cursor.skip(count, this.#module.readTo.value - inputStart);
    return memory.subarray(outputStart, this.#module.writtenTo.value);
  }
}

/** How many of a batch's records end before a place, at most so many. */
function wholeRecords(bytes: Buffer, start: number, end: number, countMax: number): number {
  let count = 0;
  for (let at = start; count < countMax && at + 4 <= end; count++) {
    at += 4 + bytes.readUInt32LE(at);
    if (at > end) break;
  }
  return count;
}

let shared: RecordCodec | undefined;

/** One for the thread: no call of it waits for anything. */
export function recordCodec(): RecordCodec {
  shared ??= new RecordCodec();
  return shared;
}
