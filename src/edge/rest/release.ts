/** Smaller memory may be a part of what the runtime shares among buffers. */
const ownBytesMin = 16 * 1024;

/**
 * Frees the memory of what was read from a socket and that nobody will look at again. Left to the garbage collector, the memory of requests
 * makes it run several times a second, each time over everything the process holds (10 ms and more).
 */
export function release(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= ownBytesMin) buffer.transfer(0);
}
