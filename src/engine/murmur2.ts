/** murmur2 as Kafka's default partitioner computes it, so that keys land where Kafka's clients expect them. */
export function murmur2(data: Uint8Array): number {
  const m = 0x5bd1e995;
  const { length } = data;
  let h = (0x9747b28c ^ length) | 0;
  const blocks = length & ~3;
  let i = 0;
  for (; i < blocks; i += 4) {
    let k = data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    k = Math.imul(k, m);
    h = Math.imul(h, m) ^ k;
  }
  const left = length - blocks;
  if (left > 0) {
    if (left === 3) h ^= data[i + 2]! << 16;
    if (left >= 2) h ^= data[i + 1]! << 8;
    h = Math.imul(h ^ data[i]!, m);
  }
  h ^= h >>> 13;
  h = Math.imul(h, m);
  return h ^ (h >>> 15);
}

export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
