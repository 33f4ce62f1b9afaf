import { readPacked, ValueWriter } from "./packed-value.ts";

/**
 * A message between two processes, in little-endian order:
 *
 *   u32 length of the head · u32 length of the tail · head · tail
 *
 * The head is a packed value. Typed arrays of some length stand in the tail, each at a multiple of 8 bytes: they are
 * sent from where they lie and read where they arrive.
 */
const prefixBytes = 8;

export class FrameWriter {
  readonly #values = new ValueWriter();
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Throws when the message holds what can't cross, or is too long. */
  write(message: unknown): readonly Uint8Array[] {
    const { head, tail, tailBytes } = this.#values.write(message);
    if (head.length + tailBytes > this.#bytesMax) {
      throw new RangeError(`a message between processes is longer than ${this.#bytesMax} bytes`);
    }
    const first = Buffer.allocUnsafe(prefixBytes + head.length);
    first.writeUInt32LE(head.length, 0);
    first.writeUInt32LE(tailBytes, 4);
    head.copy(first, prefixBytes);
    return tail.length === 0 ? [first] : [first, ...tail];
  }
}

const nothing = Buffer.allocUnsafeSlow(0);

interface OpenFrame {
  readonly head: Buffer;
  readonly tail: Buffer<ArrayBuffer>;
  filled: number;
}

/** Puts messages together from the bytes of a stream as they come. */
export class FrameReader {
  readonly #bytesMax: number;
  #prefix: Buffer = nothing;
  #open: OpenFrame | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that end in these bytes; throws where they are no messages. */
  *read(chunk: Buffer): Iterable<unknown> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#open === undefined) rest = this.#begin(rest);
      const open = this.#open;
      if (open === undefined) continue;
      rest = fill(open, rest);
      if (open.filled < open.head.length + open.tail.length) continue;
      this.#open = undefined;
      yield readPacked(open.head, open.tail);
    }
  }

  #begin(rest: Buffer): Buffer {
    const all = this.#prefix.length === 0 ? rest : Buffer.concat([this.#prefix, rest]);
    if (all.length < prefixBytes) {
      this.#prefix = Buffer.from(all);
      return nothing;
    }
    this.#prefix = nothing;
    const headBytes = all.readUInt32LE(0);
    const tailBytes = all.readUInt32LE(4);
    if (headBytes === 0 || headBytes + tailBytes > this.#bytesMax) throw new RangeError("no message between processes");
    const body = all.subarray(prefixBytes);
    // Most messages come in one piece, and are read where they lie.
    if (tailBytes === 0 && body.length >= headBytes) {
      this.#open = { head: body.subarray(0, headBytes), tail: nothing, filled: headBytes };
      return body.subarray(headBytes);
    }
    // Memory of its own, so that the arrays of the tail keep nothing else alive.
    const tail = tailBytes === 0 ? nothing : Buffer.allocUnsafeSlow(tailBytes);
    this.#open = { head: Buffer.allocUnsafe(headBytes), tail, filled: 0 };
    return body;
  }
}

/** Takes what belongs to the message and returns what comes after it. */
function fill(open: OpenFrame, bytes: Buffer): Buffer {
  let rest = bytes;
  if (open.filled < open.head.length) {
    const copied = rest.copy(open.head, open.filled);
    open.filled += copied;
    rest = rest.subarray(copied);
  }
  const copied = rest.copy(open.tail, Math.max(0, open.filled - open.head.length));
  open.filled += copied;
  return rest.subarray(copied);
}
