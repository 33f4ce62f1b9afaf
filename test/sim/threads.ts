import { EngineError } from "../../src/engine/errors.ts";
import {
  type Thread,
  ThreadError,
  type ThreadRole,
  type ThreadService,
  type Threads,
  Transferred,
} from "../../src/port/threads.ts";
import type { Dice } from "./dice.ts";
import { Life } from "./life.ts";

export type CreateService = (role: ThreadRole, life: Life) => ThreadService;

/** Threads as the engine has them, but in this one, in the order that the schedule gives, and ready to be lost. */
export class SimulatedThreads implements Threads {
  readonly #life: Life;
  readonly #create: CreateService;
  readonly #losesMessage: (message: unknown) => boolean;
  readonly #started: SimulatedThread[] = [];

  constructor(life: Life, create: CreateService, losesMessage: (message: unknown) => boolean = () => false) {
    this.#life = life;
    this.#create = create;
    this.#losesMessage = losesMessage;
  }

  start(role: ThreadRole): Thread {
    const thread = new SimulatedThread(this.#life, (life) => this.#create(role, life), this.#losesMessage);
    this.#started.push(thread);
    return thread;
  }

  lose(dice: Dice): void {
    dice.pick(this.#started).lose();
  }
}

interface Running {
  readonly life: Life;
  readonly service: ThreadService;
  /** Messages arrive in the order in which they were sent. */
  arrived: Promise<void>;
}

class SimulatedThread implements Thread {
  readonly #process: Life;
  readonly #launch: (life: Life) => ThreadService;
  readonly #losesMessage: (message: unknown) => boolean;
  readonly #lostCallbacks: (() => void)[] = [];
  readonly #waiting = new Set<(error: unknown) => void>();
  #running: Running | undefined;
  #closed = false;

  constructor(process: Life, launch: (life: Life) => ThreadService, losesMessage: (message: unknown) => boolean) {
    this.#process = process;
    this.#launch = launch;
    this.#losesMessage = losesMessage;
  }

  post(message: unknown): void {
    if (this.#losesMessage(message)) return;
    if (!this.#closed && this.#process.isAlive) void this.#deliver(message).catch(() => {});
  }

  request(message: unknown): Promise<unknown> {
    if (this.#closed) return Promise.reject(new ThreadError("unavailable", "the server is shutting down"));
    return new Promise((resolve, reject) => {
      if (!this.#process.isAlive) return;
      this.#waiting.add(reject);
      const settle = (answer: () => void) => {
        if (this.#waiting.delete(reject)) answer();
      };
      this.#deliver(message).then(
        (value) => settle(() => resolve(value)),
        (error) => settle(() => reject(failureOf(error))),
      );
    });
  }

  onLost(callback: () => void): void {
    this.#lostCallbacks.push(callback);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#end("the server is shutting down");
  }

  lose(): void {
    if (this.#running === undefined || this.#closed) return;
    this.#end("a worker thread was lost; retry");
    for (const callback of this.#lostCallbacks) callback();
  }

  #end(why: string): void {
    this.#running?.life.end();
    this.#running = undefined;
    for (const reject of [...this.#waiting]) reject(new ThreadError("unavailable", why));
    this.#waiting.clear();
  }

  /** Copied as between real threads. A message is begun after the one before it, and may end before it. */
  async #deliver(message: unknown): Promise<unknown> {
    const copy = structuredClone(message);
    const running = this.#run();
    const { life, service } = running;
    running.arrived = running.arrived.then(() => life.turn());
    await running.arrived;
    const answer = await service.handle(copy);
    await life.turn();
    return structuredClone(answer instanceof Transferred ? answer.value : answer);
  }

  #run(): Running {
    if (this.#running === undefined) {
      const life = new Life(this.#process.scheduler, this.#process);
      this.#running = { life, service: this.#launch(life), arrived: Promise.resolve() };
    }
    return this.#running;
  }
}

/** What is left of an error that crosses between threads. */
function failureOf(error: unknown): ThreadError {
  if (error instanceof EngineError) return new ThreadError(error.reason, error.message, error.details);
  const failure = new ThreadError(undefined, (error as Error).message);
  failure.cause = error;
  return failure;
}
