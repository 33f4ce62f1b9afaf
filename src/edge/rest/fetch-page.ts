import { Readable } from "node:stream";
import type { FetchResult } from "../../engine/stream/streams.ts";
import { recordText } from "./record-json.ts";

/** Pages up to this size are sent at once; larger ones in pieces of it, as fast as the client reads. */
const pieceBytes = 1024 * 1024;
const open = '{"records":[';
const closeBytesMax = 128;

/** A fetch reply of at most `bytesMax` bytes, or of one record that is larger than that. */
export function fetchPage(result: FetchResult, bytesMax: number): string | Readable {
  const pieces = pagePieces(result, bytesMax);
  const first = pieces.next();
  if (first.done) return first.value;
  return Readable.from(allPieces(first.value, pieces), { objectMode: false, highWaterMark: pieceBytes });
}

function* allPieces(first: string, pieces: Generator<string, string>): Iterable<Buffer> {
  yield Buffer.from(first);
  for (;;) {
    const { value, done } = pieces.next();
    yield Buffer.from(value);
    if (done) return;
  }
}

/** Yields full pieces and returns the last one. */
function* pagePieces(result: FetchResult, bytesMax: number): Generator<string, string> {
  const budget = bytesMax - open.length - closeBytesMax;
  let next = result.offset;
  let sent = 0;
  let piece = open;
  let full = false;
  while (!full && next < result.highWatermark) {
    const before = next;
    scan: for (const batch of result.read(next)) {
      if (!batch.seek(next)) break;
      do {
        const text = recordText(batch);
        const bytes = batch.headerCount > 0 ? Buffer.byteLength(text) : text.length;
        full = next > result.offset && sent + bytes + 1 > budget;
        if (full) break scan;
        piece += next > result.offset ? `,${text}` : text;
        sent += bytes + 1;
        next = batch.offset + 1;
        if (next >= result.highWatermark) break scan;
      } while (batch.next());
      if (piece.length >= pieceBytes) break;
    }
    // Trimmed under this reader, who learns of it at the next fetch.
    if (next === before) break;
    if (!full && piece.length >= pieceBytes && next < result.highWatermark) {
      yield piece;
      piece = "";
    }
  }
  const { highWatermark, logStartOffset } = result;
  return `${piece}],"next_offset":${next},"high_watermark":${highWatermark},"log_start_offset":${logStartOffset}}`;
}
