import { randomBytes } from "node:crypto";
import type { Random } from "../../port/random.ts";

export class NodeRandom implements Random {
  bytes(count: number): Uint8Array {
    return randomBytes(count);
  }

  next(): number {
    return Math.random();
  }
}
