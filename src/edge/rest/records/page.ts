import { Readable } from "node:stream";
import type { BatchCursor } from "../../../engine/log/record-batch.ts";
import type { FetchResult } from "../../../engine/stream/streams.ts";
import { recordCodec } from "./codec.ts";
import { formattedRecord, type RecordFormat } from "./format.ts";
import { RecordWriter } from "./writer.ts";

/** Pages up to this size are sent at once; what is longer follows in pieces, as fast as the client reads. */
const firstPieceBytes = 1024 * 1024;
/** Small, for each slow client holds a few of them. */
const pieceBytes = 256 * 1024;
/** A large batch is cut too, but not so often that reading it anew for each piece would count. */
export const piecesOfBatchMax = 16;
/** Records are written in steps of at least this size, or a piece would end with many small ones. */
const stepBytesMin = 32 * 1024;
export const pageStart = '{"records":[';
export const closeBytesMax = 128;

/** What comes after the records of a page that ends before `next`. */
export function pageEnd({ highWatermark, logStartOffset }: FetchResult, next: number): string {
  return `],"next_offset":${next},"high_watermark":${highWatermark},"log_start_offset":${logStartOffset}}`;
}

/**
 * A fetch reply of at most `bytesMax` bytes, or of one record that is larger than that. A page ends before a batch
 * that can't be read: the fetch that starts there is the one that fails, with the reason.
 */
export function fetchPage(result: FetchResult, bytesMax: number, format: RecordFormat): Buffer | Readable {
  const page = new PageEncoder(result, bytesMax, format);
  const first = page.next();
  if (page.done) return first;
  return Readable.from(remaining(first, page), { objectMode: false, highWaterMark: 1 });
}

/** The same as one piece, written into `buffer` as far as it goes there: the page is part of it, or has memory of its own. */
export function wholePage(result: FetchResult, bytesMax: number, buffer: Buffer): Buffer {
  const page = new PageEncoder(result, bytesMax, "base64", buffer);
  const first = page.next();
  return page.done ? first : Buffer.concat([...remaining(first, page)]);
}

function* remaining(first: Buffer, page: PageEncoder): Iterable<Buffer> {
  yield first;
  while (!page.done) yield page.next();
}

class PageEncoder {
  readonly #result: FetchResult;
  readonly #budget: number;
  readonly #format: RecordFormat;
  readonly #writer: RecordWriter;
  #next: number;
  #sent = 0;
  #pieceBytes: number;
  done = false;

  constructor(result: FetchResult, bytesMax: number, format: RecordFormat, buffer?: Buffer) {
    this.#result = result;
    this.#format = format;
    // Looking at each value takes longer than writing it as base64: so that it does not hold the thread for long.
    this.#pieceBytes = format === "base64" ? firstPieceBytes : pieceBytes;
    this.#budget = bytesMax - closeBytesMax;
    this.#next = result.offset;
    const waiting = result.highWatermark > result.offset;
    const capacity = waiting ? Math.min(bytesMax, firstPieceBytes) + 1024 : 256;
    this.#writer = new RecordWriter(buffer ?? Buffer.allocUnsafe(capacity));
    this.#writer.text(pageStart);
  }

  /** The next piece; after the last one `done` is true. */
  next(): Buffer {
    const { highWatermark } = this.#result;
    if (this.#next < highWatermark && !this.#fillPiece()) {
      const piece = this.#writer.take(pieceBytes + 1024);
      this.#sent += piece.length;
      this.#pieceBytes = pieceBytes;
      return piece;
    }
    this.#writer.text(pageEnd(this.#result, this.#next));
    this.done = true;
    return this.#writer.take();
  }

  /** Returns whether the page is complete: full, at the end, trimmed under this reader, or before damage. */
  #fillPiece(): boolean {
    try {
      for (const batch of this.#result.readBorrowed(this.#next)) {
        if (!batch.seek(this.#next)) return true;
        const bytesMin = Math.max(this.#pieceBytes, batch.bytes.length / piecesOfBatchMax);
        if (this.#fillFrom(batch, bytesMin)) return true;
        if (this.#writer.length >= bytesMin) return false;
      }
    } catch (error) {
      if (this.#next === this.#result.offset) throw error;
    }
    return true;
  }

  /** Returns whether the page is complete; else the batch is at its end, or the piece is full. */
  #fillFrom(batch: BatchCursor, bytesMin: number): boolean {
    const writer = this.#writer;
    const { offset, highWatermark } = this.#result;
    do {
      // Nearly all records are written here; what is too large for it, or the page's last, below.
      const left = this.#budget - this.#sent - writer.length;
      const room = Math.min(left, Math.max(bytesMin - writer.length, stepBytesMin));
      const isCoded = this.#format === "base64" && room > 0;
      const text = isCoded ? recordCodec().encode(batch, room, this.#next === offset) : undefined;
      if (text !== undefined) {
        writer.append(text);
        this.#next = batch.offset + 1;
        if (this.#next >= highWatermark) return true;
        continue;
      }
      const before = writer.length;
      const first = this.#next === offset;
      // A record that can't fit needs not be written to know it.
      if (!first && this.#sent + before + batch.valueLength > this.#budget) return true;
      writer.text((first ? "" : ",") + formattedRecord(batch, this.#format));
      if (!first && this.#sent + writer.length > this.#budget) {
        writer.truncate(before);
        return true;
      }
      this.#next = batch.offset + 1;
      if (this.#next >= highWatermark) return true;
    } while (writer.length < bytesMin && batch.next());
    return false;
  }
}
