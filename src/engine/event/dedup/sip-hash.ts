export const digestKeyBytes = 16;

/** The four words of the state, each as its low and its high half. */
const state = new Int32Array(8);

/**
 * SipHash-2-4 with 128 bits, little endian. Whoever does not know the key can't find two messages with the same digest; and it takes a
 * tenth of the time of SHA-256. The events module has it once more, for the messages it puts together itself.
 */
export function sipHash(key: Buffer, message: Buffer, into: Uint32Array, at: number): void {
  const [key0, key1, key2, key3] = [key.readInt32LE(0), key.readInt32LE(4), key.readInt32LE(8), key.readInt32LE(12)];
  state[0] = key0 ^ 0x70736575;
  state[1] = key1 ^ 0x736f6d65;
  state[2] = key2 ^ 0x6e646f83;
  state[3] = key3 ^ 0x646f7261;
  state[4] = key0 ^ 0x6e657261;
  state[5] = key1 ^ 0x6c796765;
  state[6] = key2 ^ 0x79746573;
  state[7] = key3 ^ 0x74656462;
  const tail = message.length & ~7;
  for (let from = 0; from < tail; from += 8) mix(message.readInt32LE(from), message.readInt32LE(from + 4));
  let low = 0;
  let high = message.length << 24;
  for (let i = tail; i < message.length; i++) {
    const byte = message[i]!;
    if (i < tail + 4) low |= byte << (8 * (i - tail));
    else high |= byte << (8 * (i - tail - 4));
  }
  mix(low, high);
  state[4]! ^= 0xee;
  putHalf(into, at);
  state[2]! ^= 0xdd;
  putHalf(into, at + 2);
}

function mix(low: number, high: number): void {
  state[6]! ^= low;
  state[7]! ^= high;
  round();
  round();
  state[0]! ^= low;
  state[1]! ^= high;
}

function putHalf(into: Uint32Array, at: number): void {
  for (let i = 0; i < 4; i++) round();
  into[at] = state[0]! ^ state[2]! ^ state[4]! ^ state[6]!;
  into[at + 1] = state[1]! ^ state[3]! ^ state[5]! ^ state[7]!;
}

function round(): void {
  addRotateXor(0, 2, 13);
  addRotateXor(4, 6, 16);
  swapHalves(0);
  addRotateXor(4, 2, 17);
  addRotateXor(0, 6, 21);
  swapHalves(4);
}

/** a += b, then b is rotated to the left by less than 32 bits, then b ^= a. */
function addRotateXor(a: number, b: number, bits: number): void {
  const low = state[b]!;
  const high = state[b + 1]!;
  const sum = (state[a]! >>> 0) + (low >>> 0);
  const sumLow = sum | 0;
  const sumHigh = (state[a + 1]! + high + (sum >= 2 ** 32 ? 1 : 0)) | 0;
  state[a] = sumLow;
  state[a + 1] = sumHigh;
  state[b] = ((low << bits) | (high >>> (32 - bits))) ^ sumLow;
  state[b + 1] = ((high << bits) | (low >>> (32 - bits))) ^ sumHigh;
}

/** A rotation by 32 bits. */
function swapHalves(a: number): void {
  const low = state[a]!;
  state[a] = state[a + 1]!;
  state[a + 1] = low;
}
