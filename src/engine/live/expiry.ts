/** Keys one after another, each after its length. */
export function encodeKeys(keys: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafe(keys.reduce((sum, key) => sum + 2 + key.length, 0));
  let at = 0;
  for (const key of keys) {
    at = bytes.writeUInt16BE(key.length, at);
    at += key.copy(bytes, at);
  }
  return bytes;
}

export function* decodeKeys(stored: Uint8Array): Iterable<Buffer> {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at);
    yield bytes.subarray(at + 2, end);
    at = end;
  }
}
