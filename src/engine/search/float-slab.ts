/** Gives out memory for numbers of single precision. */
export type TakeFloats = (length: number) => Float32Array;

export const newFloats: TakeFloats = (length) => new Float32Array(length);

const nothing = newFloats(0);

/**
 * Memory for many short vectors in few pieces. A piece for each costs more than reading the vector, and tens of
 * thousands of them leave the process's heap in shreds that never go back to the system.
 */
export class FloatSlab {
  readonly #slabFloats: number;
  #slab = nothing;
  #used = 0;

  constructor(slabFloats: number) {
    this.#slabFloats = slabFloats;
  }

  readonly take: TakeFloats = (length) => {
    if (this.#used + length > this.#slab.length) {
      this.#slab = new Float32Array(Math.max(length, this.#slabFloats));
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += length;
    return this.#slab.subarray(from, this.#used);
  };

  /** What was taken is no longer needed: the same memory is given out again. */
  reset(): void {
    this.#used = 0;
  }
}
