import { randomBytes, randomFillSync } from "node:crypto";
import type { Random } from "../../port/random.ts";

const poolBytes = 4096;
/** Longer ones are made for themselves. */
const pooledMax = 64;

/** A few bytes cost 6 µs each time; from a pool that is filled at once, 0.2. Bytes that were given out are wiped there. */
export class NodeRandom implements Random {
  readonly #pool = Buffer.allocUnsafeSlow(poolBytes);
  #at = poolBytes;

  bytes(count: number): Uint8Array {
    if (count > pooledMax) return randomBytes(count);
    if (this.#at + count > poolBytes) {
      randomFillSync(this.#pool);
      this.#at = 0;
    }
    const end = this.#at + count;
    const bytes = Uint8Array.prototype.slice.call(this.#pool, this.#at, end);
    this.#pool.fill(0, this.#at, end);
    this.#at = end;
    return bytes;
  }

  next(): number {
    return Math.random();
  }
}
