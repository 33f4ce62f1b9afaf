import { digestWordCount } from "./dedup/entry.ts";

const slotsMin = 2048;
/** A digest, and the request that writes the event; 0 there is a free slot. */
const slotWords = digestWordCount + 1;
const requestWord = digestWordCount;

/**
 * The events that are being written, each with the request that writes it. An open-addressed table in one typed array, as
 * it changes twice for every event. It has no bound of its own: a request holds its events here for as long as it waits
 * for the committer, whose queue is bounded.
 */
export class InFlight {
  #words = new Uint32Array(slotsMin * slotWords);
  #mask = slotsMin - 1;
  #count = 0;
  #lastRequest = 0;

  get size(): number {
    return this.#count;
  }

  /** A number for a request, other than that of any under way. */
  nextRequest(): number {
    this.#lastRequest = (this.#lastRequest % 0xffff_fffe) + 1;
    return this.#lastRequest;
  }

  /** Marks an event as being written by a request. False where another one writes it already. */
  take(digests: Uint32Array, at: number, request: number): boolean {
    if (this.#count * 2 > this.#mask) this.#grow();
    const slot = this.#find(digests, at);
    const words = this.#words;
    const known = words[slot + requestWord]!;
    if (known !== 0) return known === request;
    for (let word = 0; word < digestWordCount; word++) words[slot + word] = digests[at + word]!;
    words[slot + requestWord] = request;
    this.#count++;
    return true;
  }

  /** Forgets an event of a request; one that it does not write, or that stood in it twice, is left alone. */
  release(digests: Uint32Array, at: number, request: number): void {
    const slot = this.#find(digests, at);
    if (this.#words[slot + requestWord] !== request) return;
    this.#count--;
    this.#free(slot);
  }

  /** Where a digest is, or would be put. */
  #find(digests: Uint32Array, at: number): number {
    const words = this.#words;
    const { length } = words;
    const first = digests[at]!;
    const second = digests[at + 1]!;
    const third = digests[at + 2]!;
    const fourth = digests[at + 3]!;
    let slot = (first & this.#mask) * slotWords;
    while (words[slot + requestWord] !== 0) {
      const isSame =
        words[slot] === first && words[slot + 1] === second && words[slot + 2] === third && words[slot + 3] === fourth;
      if (isSame) break;
      slot += slotWords;
      if (slot === length) slot = 0;
    }
    return slot;
  }

  /** Frees a slot and moves up what was put behind it because it was taken, so that no look ends at the gap. */
  #free(slot: number): void {
    const words = this.#words;
    const { length } = words;
    const mask = this.#mask;
    let gap = slot;
    for (let next = gap; ; ) {
      next += slotWords;
      if (next === length) next = 0;
      if (words[next + requestWord] === 0) break;
      const home = (words[next]! & mask) * slotWords;
      // Whether its own place lies between the gap and here, around the end: then it stays.
      const stays = gap < next ? home > gap && home <= next : home > gap || home <= next;
      if (stays) continue;
      words.copyWithin(gap, next, next + slotWords);
      gap = next;
    }
    words[gap + requestWord] = 0;
  }

  #grow(): void {
    const old = this.#words;
    this.#words = new Uint32Array(old.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let at = 0; at < old.length; at += slotWords) {
      if (old[at + requestWord] === 0) continue;
      this.#words.set(old.subarray(at, at + slotWords), this.#find(old, at));
    }
  }
}
