import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { type Thread, ThreadError, type ThreadRole, type Threads } from "../../port/threads.ts";
import { Outbox } from "./outbox.ts";

/** What crosses the border of a thread, several at a time. */
export interface ThreadRequest {
  readonly id: number;
  readonly message: unknown;
}

export type ThreadReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ThreadFailure };

/** An error as it crosses: what the service threw, cut down to what the other side needs. */
export interface ThreadFailure {
  readonly reason: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What is young in a thread is gone with its message; more room for it only grows the process (by 100 MB in a bulk load). */
const resourceLimits = { maxYoungGenerationSizeMb: 12 };

/** Threads of Node, each running `entry` with its role and the same data. */
export class WorkerThreads implements Threads {
  readonly #entry: URL;
  readonly #data: unknown;

  constructor(entry: URL, data: unknown) {
    this.#entry = entry;
    this.#data = data;
  }

  start(role: ThreadRole): Thread {
    return new WorkerThread(() => new Worker(this.#entry, { workerData: { role, data: this.#data }, resourceLimits }));
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

class WorkerThread implements Thread {
  readonly #launch: () => Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lostCallbacks: (() => void)[] = [];
  readonly #outbox = new Outbox<ThreadRequest>(
    (requests, transfer) => this.#running().postMessage(requests, transfer),
    ({ id }, error) => this.#fail(id, error),
  );
  #worker: Worker | undefined;
  #nextId = 1;
  #closed = false;

  constructor(launch: () => Worker) {
    this.#launch = launch;
  }

  post(message: unknown, transfer: readonly ArrayBuffer[] = []): void {
    if (this.#closed) return;
    this.#outbox.push({ id: 0, message }, transfer);
  }

  request(message: unknown, transfer: readonly ArrayBuffer[] = []): Promise<unknown> {
    if (this.#closed) return Promise.reject(lost("the server is shutting down"));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#outbox.push({ id, message }, transfer);
    });
  }

  onLost(callback: () => void): void {
    this.#lostCallbacks.push(callback);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
    this.#lose(lost("the server is shutting down"));
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = this.#launch();
    this.#worker = worker;
    // Waiting requests keep the process alive through their sockets; an idle thread must not.
    worker.unref();
    worker.on("message", (replies: readonly ThreadReply[]) => {
      for (const reply of replies) this.#settle(reply);
    });
    worker.on("error", (error) => this.#onGone(worker, error));
    worker.on("exit", () => this.#onGone(worker, new Error("a worker thread ended")));
    return worker;
  }

  #settle(reply: ThreadReply): void {
    assert(reply.id > 0 && reply.id < this.#nextId, "a reply is to a request");
    if ("error" in reply) this.#fail(reply.id, fromFailure(reply.error));
    else this.#take(reply.id)?.resolve(reply.value);
  }

  #fail(id: number, error: unknown): void {
    this.#take(id)?.reject(error);
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #onGone(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const error = lost("a worker thread was lost; retry");
    error.cause = cause;
    this.#lose(error);
    if (!this.#closed) for (const callback of this.#lostCallbacks) callback();
  }

  #lose(error: ThreadError): void {
    this.#outbox.clear();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function lost(message: string): ThreadError {
  return new ThreadError("unavailable", message);
}

function fromFailure({ reason, message, stack, details }: ThreadFailure): ThreadError {
  const error = new ThreadError(reason, message, details);
  if (stack !== undefined) error.stack = stack;
  return error;
}
