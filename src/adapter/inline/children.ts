import {
  type Child,
  ChildError,
  type ChildHandler,
  type ChildLoss,
  ChildLost,
  type ChildParent,
  type Children,
  type ChildrenStats,
  type ChildService,
} from "../../port/children.ts";

/** Runs the services of children in this process, for tests and simulation. */
export class InlineChildren implements Children {
  readonly #create: (parent: ChildParent) => ChildService;
  readonly #lost: Record<ChildLoss, number> = { crashed: 0, late: 0, memory: 0, closed: 0 };
  readonly #alive = new Set<InlineChild>();
  #started = 0;

  constructor(create: (parent: ChildParent) => ChildService) {
    this.#create = create;
  }

  get stats(): ChildrenStats {
    return { running: this.#alive.size, spare: 0, residentBytes: 0, started: this.#started, lost: { ...this.#lost } };
  }

  prepare(): void {}

  take(handler: ChildHandler = () => undefined): Child {
    const child = new InlineChild(this.#create, handler);
    this.#started++;
    this.#alive.add(child);
    child.onLost((why) => {
      this.#alive.delete(child);
      this.#lost[why]++;
    });
    return child;
  }

  async close(): Promise<void> {
    for (const child of [...this.#alive]) {
      await child.close();
      child.kill("closed");
    }
  }
}

class InlineChild implements Child {
  readonly pid = undefined;
  readonly ready = Promise.resolve();
  readonly #service: ChildService;
  readonly #lostCallbacks: ((why: ChildLoss) => void)[] = [];
  readonly #waiting = new Set<(error: Error) => void>();
  #why: ChildLoss | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(create: (parent: ChildParent) => ChildService, handler: ChildHandler) {
    const ask = async (message: unknown) => structuredClone(await handler(structuredClone(message)));
    this.#service = create({ post: (message) => void ask(message), request: ask });
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  post(message: unknown): void {
    this.#handle(message).catch(() => {});
  }

  async request(message: unknown): Promise<unknown> {
    if (this.#why !== undefined) throw lost(this.#why);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.add(reject);
    this.#handle(message)
      .then(
        (answer) => resolve(structuredClone(answer)),
        (error: unknown) => reject(childError(error)),
      )
      .finally(() => this.#waiting.delete(reject));
    return promise;
  }

  kill(why: ChildLoss): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    for (const callback of this.#lostCallbacks) callback(why);
    for (const reject of this.#waiting) reject(lost(why));
    this.#waiting.clear();
  }

  onLost(callback: (why: ChildLoss) => void): void {
    this.#lostCallbacks.push(callback);
  }

  /** Waits for what was sent. */
  async close(): Promise<void> {
    await this.#service.close?.();
    await this.#last;
  }

  /** Copied as between real processes. */
  #handle(message: unknown): Promise<unknown> {
    const copy = structuredClone(message);
    const done = Promise.resolve().then(() => this.#service.handle(copy));
    this.#last = Promise.allSettled([this.#last, done]);
    return done;
  }
}

function lost(why: ChildLoss): ChildLost {
  return new ChildLost(why, `the child is gone: ${why}`);
}

/** As it comes out of a process: what the service threw, without what can't cross. */
function childError(error: unknown): ChildError {
  const { message, reason, details } = error as Error & { reason?: string; details?: Record<string, unknown> };
  return new ChildError(reason, message, details);
}
