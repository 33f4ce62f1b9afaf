import { checkDepth } from "./statement-limits.ts";

/** Where the brackets of a statement's tokens open and close, found in one pass. */
export class Brackets {
  readonly #partner: Int32Array;
  readonly #around: Int32Array;
  readonly #depth: Int32Array;

  /** `side` tells of a token whether it opens (1), closes (-1) or is no bracket; `position` where it is in the text. */
  constructor(count: number, side: (i: number) => number, position: (i: number) => number) {
    this.#partner = new Int32Array(count).fill(-1);
    this.#around = new Int32Array(count).fill(-1);
    this.#depth = new Int32Array(count);
    const open: number[] = [];
    for (let i = 0; i < count; i++) {
      const which = side(i);
      if (which < 0) this.#close(open.pop(), i);
      this.#around[i] = open.at(-1) ?? -1;
      this.#depth[i] = open.length;
      if (which > 0) checkDepth(open.push(i), position(i));
    }
  }

  /** The bracket that closes or opens the one at `i`; -1 where there is none. */
  partner(i: number): number {
    return this.#partner[i] ?? -1;
  }

  /** The innermost bracket that is open at `i`; -1 where none is. */
  around(i: number): number {
    return this.#around[i] ?? -1;
  }

  depth(i: number): number {
    return this.#depth[i] ?? 0;
  }

  #close(open: number | undefined, i: number): void {
    if (open === undefined) return;
    this.#partner[open] = i;
    this.#partner[i] = open;
  }
}
