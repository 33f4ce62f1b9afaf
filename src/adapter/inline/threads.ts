import { type Thread, type ThreadRole, type ThreadService, type Threads, Transferred } from "../../port/threads.ts";

/** Runs the services of threads in this one, message by message, for tests and simulation. */
export class InlineThreads implements Threads {
  readonly #create: (role: ThreadRole) => ThreadService;

  constructor(create: (role: ThreadRole) => ThreadService) {
    this.#create = create;
  }

  start(role: ThreadRole): Thread {
    return new InlineThread(this.#create(role));
  }
}

class InlineThread implements Thread {
  readonly #service: ThreadService;
  #last: Promise<unknown> = Promise.resolve();

  constructor(service: ThreadService) {
    this.#service = service;
  }

  post(message: unknown): void {
    this.#take(message).catch(() => {});
  }

  async request(message: unknown): Promise<unknown> {
    const answer = await this.#take(message);
    return answer instanceof Transferred ? structuredClone(answer.value) : answer;
  }

  onLost(_callback: () => void): void {}

  async close(): Promise<void> {
    await this.#last.catch(() => {});
  }

  /** Copied as between real threads, and handled after what was sent before. */
  #take(message: unknown): Promise<unknown> {
    const copy = structuredClone(message);
    const done = this.#last.then(() => this.#service.handle(copy));
    this.#last = done.catch(() => {});
    return done;
  }
}
