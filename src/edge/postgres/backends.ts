import { timingSafeEqual } from "node:crypto";
import type { Random } from "../../port/random.ts";

interface Backend {
  readonly process: number;
  readonly secret: number;
  readonly cancel: () => void;
}

/** The sessions by the number under which a CancelRequest names them. */
export class Backends {
  readonly #random: Random;
  readonly #backends = new Map<number, Backend>();
  #last = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  add(cancel: () => void): Backend {
    do this.#last = (this.#last % (2 ** 31 - 1)) + 1;
    while (this.#backends.has(this.#last));
    const secret = Buffer.from(this.#random.bytes(4)).readInt32BE(0);
    const backend = { process: this.#last, secret, cancel };
    this.#backends.set(backend.process, backend);
    return backend;
  }

  remove(process: number): void {
    this.#backends.delete(process);
  }

  /** Without the right secret there is no answer. */
  cancel(process: number, secret: number): void {
    const backend = this.#backends.get(process);
    if (backend !== undefined && timingSafeEqual(bytesOf(backend.secret), bytesOf(secret))) backend.cancel();
  }
}

function bytesOf(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
