import type { Duplex } from "node:stream";
import { EngineError } from "../../engine/errors.ts";
import { ChildError } from "../../port/children.ts";
import { FrameReader, FrameWriter } from "./frames.ts";

const MiB = 1024 * 1024;

/** What a channel holds at most, named once with its unit. */
const channelLimits = {
  messageBytesMax: 1024 * MiB,
  /** Requests that wait for their answer. */
  waitingMax: 10_000,
  /** What the other side has not taken yet. */
  unsentBytesMax: 256 * MiB,
} as const;

/** An error as it crosses: what the service threw, cut down to what the other side needs. */
interface Failure {
  readonly reason: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

type Packet =
  | { readonly ask: unknown; readonly id: number }
  | { readonly answer: unknown; readonly id: number }
  | { readonly failure: Failure; readonly id: number };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests and answers between two processes, both ways. Messages arrive in the order in which they were sent. */
export class Channel {
  readonly #socket: Duplex;
  readonly #handle: (message: unknown) => unknown;
  readonly #reader = new FrameReader(channelLimits.messageBytesMax);
  readonly #writer = new FrameWriter(channelLimits.messageBytesMax);
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #isCorked = false;

  /** `onBroken` is called when the other side is gone or says what makes no sense. */
  constructor(socket: Duplex, handle: (message: unknown) => unknown, onBroken: (error?: Error) => void) {
    this.#socket = socket;
    this.#handle = handle;
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const packet of this.#reader.read(chunk)) this.#take(packet as Packet);
      } catch (error) {
        onBroken(error as Error);
      }
    });
    socket.on("error", onBroken);
    socket.on("close", () => onBroken());
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  post(message: unknown): void {
    this.#send({ ask: message, id: 0 });
  }

  request(message: unknown): Promise<unknown> {
    const { waitingMax, unsentBytesMax } = channelLimits;
    if (this.#waiting.size >= waitingMax || this.#socket.writableLength > unsentBytesMax) {
      return Promise.reject(new ChildError("resource_exhausted", "too much waits for a child process; retry"));
    }
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#send({ ask: message, id });
      } catch (error) {
        this.#waiting.delete(id);
        reject(error);
      }
    });
  }

  /** Everything that waits fails. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(packet: Packet): void {
    if ("ask" in packet) {
      void this.#answer(packet.id, packet.ask);
      return;
    }
    // The other process may be broken: that ends the channel, not this one.
    if (!(packet.id > 0 && packet.id < this.#nextId)) throw new RangeError("an answer to no request");
    const waiting = this.#waiting.get(packet.id);
    this.#waiting.delete(packet.id);
    if ("failure" in packet) waiting?.reject(errorOf(packet.failure));
    else waiting?.resolve(packet.answer);
  }

  async #answer(id: number, message: unknown): Promise<void> {
    try {
      const answer = await this.#handle(message);
      if (id !== 0) this.#send({ answer, id });
    } catch (error) {
      if (id !== 0) this.#send({ failure: failureOf(error), id });
    }
  }

  /** What one turn sends leaves in one write. */
  #send(packet: Packet): void {
    if (this.#socket.destroyed) return;
    const parts = this.#writer.write(packet);
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    for (const part of parts) this.#socket.write(part);
  }
}

function failureOf(error: unknown): Failure {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof EngineError)) return { reason: undefined, message, stack, details: {} };
  return { reason: error.reason, message, stack, details: error.details };
}

function errorOf({ reason, message, stack, details }: Failure): ChildError {
  const error = new ChildError(reason, message, details);
  if (stack !== undefined) error.stack = stack;
  return error;
}
