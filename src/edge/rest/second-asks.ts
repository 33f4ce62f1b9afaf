/** Keys that are remembered. */
const keysMax = 16_384;

/**
 * Tells what is asked for again: caches take in only that, so that one reader of everything does not drive out the rest.
 * Forgotten all at once when it is full: telling a second ask from the first needs no order.
 */
export class SecondAsks {
  readonly #keys = new Set<string>();

  /** Notes that it was asked for; returns whether it was before. */
  note(key: string): boolean {
    if (this.#keys.has(key)) return true;
    if (this.#keys.size >= keysMax) this.#keys.clear();
    this.#keys.add(key);
    return false;
  }
}
