import type { IndexThread } from "./engine-thread.ts";
import type { IndexMessage } from "./index/messages.ts";

/**
 * The threads that hold indexes. The first has every collection in use and answers everything; the others take part in
 * searching the collections that several queries ask at once.
 */
export class IndexThreads {
  readonly all: readonly IndexThread[];
  /** Searches under way, by thread. */
  readonly #searching: number[];
  #nextQuery = 1;

  constructor(threads: readonly IndexThread[]) {
    this.all = threads;
    this.#searching = threads.map(() => 0);
  }

  /** A name for a query. */
  nextQuery(): number {
    return this.#nextQuery++;
  }

  searching(place: number): number {
    return this.#searching[place]!;
  }

  search<T>(place: number, message: IndexMessage): Promise<T> {
    const answer = this.all[place]!.request<T>(message);
    this.#searching[place]!++;
    const end = () => {
      this.#searching[place]!--;
    };
    answer.then(end, end);
    return answer;
  }

  onLost(callback: (place: number) => void): void {
    for (const [place, thread] of this.all.entries()) thread.onLost(() => callback(place));
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((thread) => thread.close()));
  }
}
