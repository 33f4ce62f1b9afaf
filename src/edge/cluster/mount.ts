import type { FastHandler } from "../../listener/fast-lane.ts";
import type { Listener } from "../../listener/listener.ts";
import type { AnyRequest, AnyResponse, Handler } from "../../listener/registry.ts";

/** What a server needs of the listener that brings its requests. */
export type HttpListener = Pick<
  Listener,
  | "address"
  | "certificates"
  | "certificatePair"
  | "connections"
  | "inFlight"
  | "counters"
  | "settle"
  | "drain"
  | "close"
>;

/** A server's place on a listener that outlives it: its own requests are counted, and ended with it. */
export class Mount implements HttpListener {
  readonly #listener: Listener;
  readonly #handler: Handler;
  readonly #open = new Set<AnyResponse>();
  #onIdle: (() => void) | undefined;

  /** For requests that the listener has read itself. */
  readonly fast: FastHandler | undefined;

  constructor(listener: Listener, handler: Handler, fast?: FastHandler) {
    this.#listener = listener;
    this.#handler = handler;
    this.fast = fast;
  }

  handle(request: AnyRequest, response: AnyResponse): void {
    this.#open.add(response);
    (response as NodeJS.EventEmitter).once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onIdle?.();
    });
    this.#handler(request, response);
  }

  get address(): Listener["address"] {
    return this.#listener.address;
  }

  get certificates(): Listener["certificates"] {
    return this.#listener.certificates;
  }

  get certificatePair(): Listener["certificatePair"] {
    return this.#listener.certificatePair;
  }

  get connections(): number {
    return this.#listener.connections;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  get counters(): Listener["counters"] {
    return this.#listener.counters;
  }

  settle(): Promise<void> {
    return this.#listener.settle();
  }

  /** Resolves when its requests are answered, at the latest after the given time. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onIdle = undefined;
  }

  /** Cuts its requests off; the listener goes on. */
  async close(): Promise<void> {
    for (const response of this.#open) response.destroy();
  }
}
