import type { Child, ChildHandler, ChildLoss, Children, ChildrenStats } from "../../port/children.ts";
import { LaunchedChild } from "./child-process.ts";
import { type LaunchOptions, launch } from "./launch.ts";

export interface ChildrenOptions extends LaunchOptions {
  /** What each is told when it starts. */
  readonly data: unknown;
  /** A child whose memory is more is killed, where the system tells how much it is. */
  readonly residentBytesMax: number;
  /** A first spare that nobody has taken for this long is ended. */
  readonly spareIdleMs?: number;
  /** Told of each child that is lost without being closed, with the end of what it wrote to its standard error. */
  readonly onLost?: (why: ChildLoss, words: string) => void;
}

/** What comes soon after a start finds a warm child; who never asks for one does not pay for it. */
const spareIdleMs = 5_000;

/** How often the memory of children that work is looked at. */
const lookMs = 50;

/** Processes of Node, each running the same entry file, and one more that is warm. */
export class ChildProcesses implements Children {
  readonly #options: ChildrenOptions;
  readonly #alive = new Set<LaunchedChild>();
  readonly #exiting = new Set<Promise<void>>();
  readonly #lost: Record<ChildLoss, number> = { crashed: 0, late: 0, memory: 0, closed: 0 };
  #spare: LaunchedChild | undefined;
  #started = 0;
  #looking: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  get stats(): ChildrenStats {
    const spare = this.#spare === undefined ? 0 : 1;
    let residentBytes = 0;
    for (const child of this.#alive) residentBytes += child.residentBytes;
    return { running: this.#alive.size - spare, spare, residentBytes, started: this.#started, lost: { ...this.#lost } };
  }

  prepare(): void {
    if (this.#isClosed || this.#spare !== undefined) return;
    const spare = this.#launch();
    this.#spare = spare;
    this.#endIdleSpare(spare);
    // One that can't start is not tried again and again: the next that is needed is.
    spare.onLost(() => {
      if (this.#spare === spare) this.#spare = undefined;
    });
  }

  take(handler?: ChildHandler): Child {
    const child = this.#spare ?? this.#launch();
    this.#spare = undefined;
    child.handler = handler;
    // Its start must not compete with that of the one that is waited for.
    void child.ready.then(
      () => this.prepare(),
      () => {},
    );
    return child;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#looking);
    for (const child of this.#alive) child.kill("closed");
    await Promise.all([...this.#exiting]);
  }

  #endIdleSpare(spare: LaunchedChild): void {
    setTimeout(() => {
      if (this.#spare === spare && this.#alive.size === 1) spare.kill("closed");
    }, this.#options.spareIdleMs ?? spareIdleMs).unref();
  }

  #launch(): LaunchedChild {
    const child = new LaunchedChild(launch(this.#options), this.#options.data);
    this.#started++;
    this.#alive.add(child);
    const { exited } = child;
    this.#exiting.add(exited);
    void exited.then(() => this.#exiting.delete(exited));
    child.onLost((why) => {
      this.#alive.delete(child);
      this.#lost[why]++;
      if (why !== "closed") this.#options.onLost?.(why, child.words);
    });
    if (this.#isClosed) child.kill("closed");
    this.#looking ??= setInterval(() => this.#look(), lookMs).unref();
    return child;
  }

  #look(): void {
    for (const child of this.#alive) {
      if (child.waiting > 0 && child.residentBytes > this.#options.residentBytesMax) child.kill("memory");
    }
  }
}
