/** Statements whose rows are being sent, by the id in their ticket, so that another call can stop them. */
export class RunningStatements {
  readonly #running = new Map<string, Set<AbortController>>();

  /** Until it is disposed of, the statement can be stopped; a ticket may be used more than once at a time. */
  begin(owner: string, id: string): { readonly signal: AbortSignal } & Disposable {
    const key = `${owner}\n${id}`;
    const controller = new AbortController();
    const all = this.#running.get(key) ?? new Set();
    this.#running.set(key, all.add(controller));
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        all.delete(controller);
        if (all.size === 0 && this.#running.get(key) === all) this.#running.delete(key);
      },
    };
  }

  /** Whether there was anything to stop. */
  cancel(owner: string, id: string, reason: Error): boolean {
    const all = this.#running.get(`${owner}\n${id}`);
    for (const controller of all ?? []) controller.abort(reason);
    return all !== undefined;
  }
}
