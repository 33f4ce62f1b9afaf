import { DefaultDeserializer, DefaultSerializer } from "node:v8";

/**
 * A message between two processes, in little-endian order:
 *
 *   u32 length of the head · u32 length of the tail · head · tail
 *
 * The head is the message as V8 writes it. Typed arrays of some length stand in the tail, each at a multiple of 8
 * bytes: they are sent from where they lie and read where they arrive.
 */
const prefixBytes = 8;
/** Shorter ones cost less as a part of the head than as a write of their own. */
const apartBytesMin = 1024;
const alignBytes = 8;

const kinds = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;

type TypedArray = InstanceType<(typeof kinds)[number]>;

const inHead = 0;
const inTail = 1;
const padding = Buffer.alloc(alignBytes);

class FrameSerializer extends DefaultSerializer {
  readonly tail: Uint8Array[] = [];
  tailBytes = 0;

  /** V8 asks for every typed array. */
  _writeHostObject(view: TypedArray): void {
    const kind = kinds.findIndex((each) => view instanceof each);
    if (kind < 0) throw new TypeError("only typed arrays can be sent to another process");
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const isApart = bytes.length >= apartBytesMin;
    this.writeUint32(isApart ? inTail : inHead);
    this.writeUint32(kind);
    this.writeUint32(bytes.length);
    if (!isApart) {
      this.writeRawBytes(bytes);
      return;
    }
    this.writeUint32(this.tailBytes);
    this.tail.push(bytes);
    const pad = paddingOf(bytes.length);
    if (pad > 0) this.tail.push(padding.subarray(0, pad));
    this.tailBytes += bytes.length + pad;
  }
}

class FrameDeserializer extends DefaultDeserializer {
  readonly #tail: Uint8Array<ArrayBuffer>;

  constructor(head: Buffer, tail: Uint8Array<ArrayBuffer>) {
    super(head);
    this.#tail = tail;
  }

  _readHostObject(): TypedArray {
    const place = this.readUint32();
    const kind = kinds[this.readUint32()]!;
    const length = this.readUint32();
    const items = length / kind.BYTES_PER_ELEMENT;
    if (place === inTail) return new kind(this.#tail.buffer, this.#tail.byteOffset + this.readUint32(), items);
    // A copy: in the head it may lie at any byte.
    const bytes = Uint8Array.from(this.readRawBytes(length));
    return new kind(bytes.buffer, 0, items);
  }
}

function paddingOf(length: number): number {
  return (alignBytes - (length % alignBytes)) % alignBytes;
}

/** Throws when the message holds what can't cross, or is longer than `bytesMax`. */
export function encodeFrame(message: unknown, bytesMax: number): readonly Uint8Array[] {
  const serializer = new FrameSerializer();
  serializer.writeHeader();
  serializer.writeValue(message);
  const head = serializer.releaseBuffer();
  if (head.length + serializer.tailBytes > bytesMax) {
    throw new RangeError(`a message between processes is longer than ${bytesMax} bytes`);
  }
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix.writeUInt32LE(head.length, 0);
  prefix.writeUInt32LE(serializer.tailBytes, 4);
  return serializer.tail.length === 0 ? [Buffer.concat([prefix, head])] : [prefix, head, ...serializer.tail];
}

interface OpenFrame {
  readonly head: Buffer;
  readonly tail: Buffer<ArrayBuffer>;
  filled: number;
}

/** Puts messages together from the bytes of a stream as they come. */
export class FrameReader {
  readonly #bytesMax: number;
  #prefix = Buffer.alloc(0);
  #open: OpenFrame | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that end in these bytes; throws where they are no messages. */
  *read(chunk: Buffer): Iterable<unknown> {
    let rest = chunk;
    while (rest.length > 0) {
      rest = this.#open === undefined ? this.#begin(rest) : this.#fill(this.#open, rest);
      const open = this.#open;
      if (open === undefined || open.filled < open.head.length + open.tail.length) continue;
      this.#open = undefined;
      const deserializer = new FrameDeserializer(open.head, open.tail);
      deserializer.readHeader();
      yield deserializer.readValue();
    }
  }

  #begin(rest: Buffer): Buffer {
    const all = this.#prefix.length === 0 ? rest : Buffer.concat([this.#prefix, rest]);
    if (all.length < prefixBytes) {
      this.#prefix = Buffer.from(all);
      return all.subarray(all.length);
    }
    this.#prefix = Buffer.alloc(0);
    const headBytes = all.readUInt32LE(0);
    const tailBytes = all.readUInt32LE(4);
    if (headBytes === 0 || headBytes + tailBytes > this.#bytesMax) throw new RangeError("no message between processes");
    // Memory of its own, so that the arrays of the tail keep nothing else alive.
    this.#open = { head: Buffer.allocUnsafe(headBytes), tail: Buffer.allocUnsafeSlow(tailBytes), filled: 0 };
    return all.subarray(prefixBytes);
  }

  #fill(open: OpenFrame, rest: Buffer): Buffer {
    let taken = 0;
    for (const [part, start] of [
      [open.head, 0],
      [open.tail, open.head.length],
    ] as const) {
      const at = open.filled - start;
      if (at < 0 || at >= part.length) continue;
      const copied = rest.copy(part, at, taken);
      taken += copied;
      open.filled += copied;
    }
    return rest.subarray(taken);
  }
}
