import type { Socket } from "node:net";
import type { Connection, Registry } from "./registry.ts";

/** A connection that has not yet said which protocol it speaks. */
export class OpeningConnection implements Connection {
  readonly #registry: Registry;
  readonly #socket: Socket;
  readonly #openedMs: number;

  constructor(registry: Registry, socket: Socket) {
    this.#registry = registry;
    this.#socket = socket;
    this.#openedMs = registry.nowMs;
  }

  sweep(): void {
    if (this.#registry.nowMs - this.#openedMs < this.#registry.limits.sniffTimeoutMs) return;
    this.#registry.counters.timedOut++;
    this.#socket.destroy();
  }

  drain(): void {}

  end(): void {
    this.#socket.destroy();
  }
}
