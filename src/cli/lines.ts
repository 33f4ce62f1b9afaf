/** A line of a file, without its end. */
export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** The byte after the line and its end. */
  readonly end: number;
}

export const lineLimits = { lineBytesMax: 16 * 1024 * 1024 } as const;

/**
 * Lines of UTF-8 bytes, each with the position after it, so that reading can resume there. Reads no further
 * ahead than the piece that is at hand.
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  start: { readonly bytes: number; readonly lines: number } = { bytes: 0, lines: 0 },
): AsyncGenerator<Line> {
  let rest = Buffer.alloc(0);
  let position = start.bytes;
  let number = start.lines;
  const line = (bytes: Buffer, ended: boolean): Line => {
    position += bytes.length + (ended ? 1 : 0);
    number++;
    const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
    return { text: bytes.toString("utf8", 0, end), number, end: position };
  };
  for await (const piece of pieces) {
    let data =
      rest.length === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.length) : Buffer.concat([rest, piece]);
    for (let at = data.indexOf(0x0a); at >= 0; at = data.indexOf(0x0a)) {
      yield line(data.subarray(0, at), true);
      data = data.subarray(at + 1);
    }
    if (data.length > lineLimits.lineBytesMax) throw new Error(`line ${number + 1} is longer than 16 MiB`);
    rest = Buffer.from(data);
  }
  if (rest.length > 0) yield line(rest, false);
}
