/** Unsigned byte order, a prefix before its extensions: the order of keys in every Store. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** From here on a call into the native `fill` pays. */
const nativeBytesMin = 256;

/** Copies bytes to a place and returns the one after them. To and from shared memory `set` takes several times as long as the native `fill`. */
export function copyInto(target: Buffer, at: number, bytes: Uint8Array): number {
  const end = at + bytes.length;
  if (bytes.length < nativeBytesMin) target.set(bytes, at);
  else target.fill(bytes, at, end);
  return end;
}

/** The same bytes in memory of their own. A Buffer's `slice` would share it. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
