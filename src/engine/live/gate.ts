import assert from "node:assert/strict";
/** Many may hold it together, or one alone; in the order of their coming, so that nobody waits for ever. */
export class Gate {
  readonly #waiting: { readonly alone: boolean; readonly enter: () => void }[] = [];
  #together = 0;
  #isAlone = false;

  /** Resolves with what ends it. */
  together(): Promise<() => void> | (() => void) {
    if (!this.#isAlone && this.#waiting.length === 0) return this.#enter(false);
    return this.#wait(false);
  }

  alone(): Promise<() => void> | (() => void) {
    if (!this.#isAlone && this.#together === 0 && this.#waiting.length === 0) return this.#enter(true);
    return this.#wait(true);
  }

  #wait(alone: boolean): Promise<() => void> {
    return new Promise((resolve) => this.#waiting.push({ alone, enter: () => resolve(this.#enter(alone)) }));
  }

  #enter(alone: boolean): () => void {
    assert(!this.#isAlone && !(alone && this.#together > 0), "who is alone is alone");
    if (alone) this.#isAlone = true;
    else this.#together++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      if (alone) this.#isAlone = false;
      else this.#together--;
      this.#next();
    };
  }

  #next(): void {
    while (this.#waiting.length > 0 && !this.#isAlone) {
      const first = this.#waiting[0]!;
      if (first.alone && this.#together > 0) return;
      this.#waiting.shift();
      first.enter();
    }
  }
}
