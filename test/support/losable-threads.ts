import { InlineThreads } from "../../src/adapter/inline/threads.ts";
import { type Thread, ThreadError, type ThreadRole, type ThreadService, type Threads } from "../../src/port/threads.ts";

/** Threads in this one that a test can take away, with all they hold, as a crash does. */
export class LosableThreads implements Threads {
  readonly #create: (role: ThreadRole) => ThreadService;
  readonly #started = new Map<ThreadRole, LosableThread[]>();

  constructor(create: (role: ThreadRole) => ThreadService) {
    this.#create = create;
  }

  start(role: ThreadRole): Thread {
    const thread = new LosableThread(() => new InlineThreads(this.#create).start(role));
    this.#started.set(role, [...(this.#started.get(role) ?? []), thread]);
    return thread;
  }

  /** `place` is the number of the thread among those with this role. */
  lose(role: ThreadRole, place = 0): void {
    this.#started.get(role)?.[place]?.lose();
  }
}

class LosableThread implements Thread {
  readonly #launch: () => Thread;
  readonly #callbacks: (() => void)[] = [];
  #inner: Thread;
  #lost = new AbortController();

  constructor(launch: () => Thread) {
    this.#launch = launch;
    this.#inner = launch();
  }

  lose(): void {
    this.#inner = this.#launch();
    this.#lost.abort();
    this.#lost = new AbortController();
    for (const callback of this.#callbacks) callback();
  }

  post(message: unknown): void {
    this.#inner.post(message);
  }

  request(message: unknown): Promise<unknown> {
    const { signal } = this.#lost;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new ThreadError("unavailable", "the thread was lost")));
      this.#inner.request(message).then(resolve, reject);
    });
  }

  onLost(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
