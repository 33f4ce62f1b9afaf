/**
 * Keeps the objects that a moment's manifests name while somebody copies them. The steps that make, name and delete
 * objects run one at a time; a hold is taken between two of them, and while there is one they delete nothing.
 */
export class ObjectHold {
  #holders = 0;
  #step: Promise<unknown> | undefined;
  #taking: Promise<void> | undefined;

  /** Asked by a step; the answer is good until its end. */
  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** Runs a step. */
  async step<T>(run: () => Promise<T>): Promise<T> {
    while (this.#taking !== undefined) await this.#taking;
    const running = run();
    this.#step = running;
    try {
      return await running;
    } finally {
      this.#step = undefined;
    }
  }

  /** Waits for the step under way, then takes what `take` gives, which is of the same moment as the objects. */
  async hold<T extends Disposable>(take: () => T): Promise<HeldResource<T>> {
    while (this.#taking !== undefined) await this.#taking;
    let done = () => {};
    this.#taking = new Promise((resolve) => {
      done = resolve;
    });
    try {
      // Whatever becomes of it.
      await this.#step?.catch(() => {});
      const resource = take();
      this.#holders++;
      return new HeldResource(resource, () => this.#holders--);
    } finally {
      this.#taking = undefined;
      done();
    }
  }
}

export class HeldResource<T extends Disposable> implements Disposable {
  readonly resource: T;
  readonly #release: () => void;
  #released = false;

  constructor(resource: T, release: () => void) {
    this.resource = resource;
    this.#release = release;
  }

  [Symbol.dispose](): void {
    if (this.#released) return;
    this.#released = true;
    this.resource[Symbol.dispose]();
    this.#release();
  }
}
