import { Worker } from "node:worker_threads";

const headBytes = 16;

/**
 * Sees to it that an input that never ends is told: a thread looks whether the inputs go on, and when one has taken
 * `hangMs` it writes it to a file and ends the process, which is too busy to do so itself.
 */
export class Watchdog implements AsyncDisposable {
  readonly #shared: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #worker: Worker;

  constructor(file: string, message: string, hangMs: number, inputBytesMax = 1024 * 1024) {
    this.#shared = new SharedArrayBuffer(headBytes + inputBytesMax);
    this.#numbers = new Int32Array(this.#shared, 0, 4);
    this.#bytes = new Uint8Array(this.#shared, headBytes);
    const workerData = { shared: this.#shared, headBytes, hangMs, file, message };
    this.#worker = new Worker(`(${watch.toString()})()`, { eval: true, workerData });
    this.#worker.unref();
  }

  begin(input: Uint8Array): void {
    const length = Math.min(input.length, this.#bytes.length);
    this.#bytes.set(input.subarray(0, length));
    Atomics.store(this.#numbers, 1, length);
    Atomics.add(this.#numbers, 0, 1);
    Atomics.store(this.#numbers, 2, 1);
  }

  end(): void {
    Atomics.store(this.#numbers, 2, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Runs in the thread, from its text: it may use nothing of this module. */
function watch(): void {
  const { workerData } = require("node:worker_threads") as typeof import("node:worker_threads");
  const fs = require("node:fs") as typeof import("node:fs");
  const { shared, headBytes, hangMs, file, message } = workerData as {
    shared: SharedArrayBuffer;
    headBytes: number;
    hangMs: number;
    file: string;
    message: string;
  };
  const numbers = new Int32Array(shared, 0, 4);
  let last = -1;
  let sinceMs = 0;
  setInterval(() => {
    const now = Atomics.load(numbers, 0);
    if (now !== last || Atomics.load(numbers, 2) === 0) {
      last = now;
      sinceMs = performance.now();
      return;
    }
    if (performance.now() - sinceMs < hangMs) return;
    fs.writeFileSync(file, Buffer.from(new Uint8Array(shared, headBytes, Atomics.load(numbers, 1))));
    fs.writeSync(2, `${message}\n`);
    process.kill(process.pid, "SIGKILL");
  }, 250);
}
