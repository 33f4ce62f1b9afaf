/**
 * Hands out turns of the event loop, one waiter a turn. However many links are behind, requests are served after each
 * slice of one of them.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#run());
    });
  }

  #run(): void {
    this.#waiting.shift()?.();
    this.#scheduled = this.#waiting.length > 0;
    if (this.#scheduled) setImmediate(() => this.#run());
  }
}
