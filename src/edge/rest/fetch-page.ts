import { Readable } from "node:stream";
import type { FetchResult } from "../../engine/stream/streams.ts";
import { RecordWriter } from "./record-writer.ts";

/** Pages up to this size are sent at once; larger ones in pieces of it, as fast as the client reads. */
const pieceBytes = 1024 * 1024;
const open = '{"records":[';
const closeBytesMax = 128;

/** A fetch reply of at most `bytesMax` bytes, or of one record that is larger than that. */
export function fetchPage(result: FetchResult, bytesMax: number): Buffer | Readable {
  const page = new PageEncoder(result, bytesMax);
  const first = page.next();
  if (page.done) return first;
  return Readable.from(remaining(first, page), { objectMode: false, highWaterMark: pieceBytes });
}

function* remaining(first: Buffer, page: PageEncoder): Iterable<Buffer> {
  yield first;
  while (!page.done) yield page.next();
}

class PageEncoder {
  readonly #result: FetchResult;
  readonly #budget: number;
  readonly #writer: RecordWriter;
  #next: number;
  #sent = 0;
  done = false;

  constructor(result: FetchResult, bytesMax: number) {
    this.#result = result;
    this.#budget = bytesMax - closeBytesMax;
    this.#next = result.offset;
    const waiting = result.highWatermark > result.offset;
    this.#writer = new RecordWriter(waiting ? Math.min(bytesMax, pieceBytes) + 1024 : 256);
    this.#writer.text(open);
  }

  /** The next piece; after the last one `done` is true. */
  next(): Buffer {
    const { highWatermark, logStartOffset } = this.#result;
    if (this.#next < highWatermark && !this.#fillPiece()) {
      const piece = this.#writer.take(pieceBytes + 1024);
      this.#sent += piece.length;
      return piece;
    }
    this.#writer.text(
      `],"next_offset":${this.#next},"high_watermark":${highWatermark},"log_start_offset":${logStartOffset}}`,
    );
    this.done = true;
    return this.#writer.take();
  }

  /** Returns whether the page is complete: full, at the end, or trimmed under this reader. */
  #fillPiece(): boolean {
    const writer = this.#writer;
    const { offset, highWatermark } = this.#result;
    for (const batch of this.#result.read(this.#next)) {
      if (!batch.seek(this.#next)) return true;
      do {
        const before = writer.length;
        const first = this.#next === offset;
        // A record that can't fit needs not be written to know it.
        if (!first && this.#sent + before + batch.valueLength > this.#budget) return true;
        writer.record(batch, first);
        if (!first && this.#sent + writer.length > this.#budget) {
          writer.truncate(before);
          return true;
        }
        this.#next = batch.offset + 1;
        if (this.#next >= highWatermark) return true;
      } while (batch.next());
      if (writer.length >= pieceBytes) return false;
    }
    return true;
  }
}
