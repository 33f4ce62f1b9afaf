import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Duplex, Readable } from "node:stream";
import {
  type Child,
  type ChildHandler,
  type ChildLoss,
  ChildLost,
  type ChildRequestOptions,
} from "../../port/children.ts";
import { Channel } from "./channel.ts";

/** How long a start may take; a machine that is overloaded takes seconds. */
const startMsMax = 60_000;
/** The end of what a child wrote to its standard error, for the log. */
const wordsMax = 4096;
/** What the runtime and the C++ library say when they find no memory, before they abort. */
const outOfMemory = /out of memory|allocation failed|bad_alloc/i;

const messages: Readonly<Record<ChildLoss, string>> = {
  crashed: "the process that worked on it crashed",
  late: "the process that worked on it did not answer in time",
  memory: "the process that worked on it took too much memory",
  closed: "the process that worked on it was ended",
};

/** One process and the channel to it. */
export class LaunchedChild implements Child {
  readonly #process: ChildProcess;
  readonly #channel: Channel;
  readonly #lostCallbacks: ((why: ChildLoss) => void)[] = [];
  readonly #isReady: Promise<void>;
  #handler: ChildHandler | undefined;
  #words = "";
  #why: ChildLoss | undefined;
  readonly #exited = Promise.withResolvers<void>();
  #isLost = false;

  constructor(launched: ChildProcess, data: unknown) {
    this.#process = launched;
    const socket = launched.stdio[3] as Duplex & { unref(): void };
    this.#channel = new Channel(
      socket,
      (message) => this.#handler?.(message),
      () => launched.kill("SIGKILL"),
    );
    const stderr = launched.stderr as (Readable & { unref(): void }) | null;
    stderr?.on("data", (text: Buffer) => {
      this.#words = (this.#words + text.toString()).slice(-wordsMax);
    });
    // What waits for an answer keeps the process alive by its own sockets; an idle child must not.
    launched.unref();
    socket.unref();
    stderr?.unref();
    launched.once("error", () => this.#onExit());
    // Not on `exit`: its last words may still be on their way.
    launched.once("close", () => this.#onExit());
    this.#isReady = this.request({ data }, { deadlineMs: startMsMax }).then(() => {});
    this.#isReady.catch(() => {});
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get waiting(): number {
    return this.#channel.waiting;
  }

  get ready(): Promise<void> {
    return this.#isReady;
  }

  /** What it wrote to its standard error. */
  get words(): string {
    return this.#words;
  }

  /** Without what is mapped from files, such as the store's, which the system takes back when it needs memory. 0 where it does not tell. */
  get residentBytes(): number {
    if (this.#isLost || this.pid === undefined) return 0;
    try {
      const [, resident, shared] = readFileSync(`/proc/${this.pid}/statm`, "latin1").split(" ").map(Number);
      return (resident! - shared!) * pageBytes;
    } catch {
      return 0;
    }
  }

  set handler(handler: ChildHandler | undefined) {
    this.#handler = handler;
  }

  post(message: unknown): void {
    this.#channel.post(message);
  }

  async request(message: unknown, { deadlineMs }: ChildRequestOptions = {}): Promise<unknown> {
    if (this.#isLost) throw this.#lost();
    const answer = this.#channel.request(message);
    if (deadlineMs === undefined) return answer;
    const timer = setTimeout(() => this.kill("late"), deadlineMs);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  kill(why: ChildLoss): void {
    if (this.#isLost) return;
    this.#process.kill("SIGKILL");
    this.#lose(why);
  }

  onLost(callback: (why: ChildLoss) => void): void {
    this.#lostCallbacks.push(callback);
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<void> {
    return this.#exited.promise;
  }

  #onExit(): void {
    this.#lose(outOfMemory.test(this.#words) ? "memory" : "crashed");
    this.#exited.resolve();
  }

  #lose(why: ChildLoss): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#why = why;
    for (const callback of this.#lostCallbacks) callback(why);
    this.#channel.fail(this.#lost());
  }

  #lost(): ChildLost {
    const why = this.#why ?? "crashed";
    return new ChildLost(why, messages[why]);
  }
}

/** The unit of /proc's figures, the same on x64 and arm64 as distributions build them. */
const pageBytes = 4096;
