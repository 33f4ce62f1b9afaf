/**
 * Kafka's partitioner hash: MurmurHash2 (32 bits, little endian) with Kafka's seed. A key goes to the partition
 * that a Kafka producer would choose, so both can write the same partitioned data.
 */
const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/** The hash as a signed 32-bit integer, as the Java client returns it. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  const tail = length & ~3;
  let hash = seed ^ length;
  for (let at = 0; at < tail; at += 4) {
    let word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    word = Math.imul(word, multiplier);
    word ^= word >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier);
  }
  const rest = length - tail;
  if (rest > 0) {
    if (rest === 3) hash ^= bytes[tail + 2]! << 16;
    if (rest >= 2) hash ^= bytes[tail + 1]! << 8;
    hash = Math.imul(hash ^ bytes[tail]!, multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return hash ^ (hash >>> 15);
}

/** The partition of a key. Kafka clears the sign bit rather than taking the absolute value. */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
