/** Less than this is not worth the call. */
const bytesMin = 16 * 1024;

/**
 * Frees the memory of what was read from a socket and that nobody will look at again. Left to the garbage collector, the
 * memory of requests makes it run several times a second, each time over everything the process holds (10 ms and more).
 */
export function release(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // What was put together from several pieces may lie in the memory that small buffers share, which has this size.
  if (buffer.byteLength < bytesMin || buffer.byteLength === Buffer.poolSize) return;
  try {
    if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  } catch {
    // Memory that can't be let go of is the collector's business after all.
  }
}
