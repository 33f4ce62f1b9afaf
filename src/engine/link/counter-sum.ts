export const int64Max = 2n ** 63n - 1n;
export const int64Min = -(2n ** 63n);

export function saturate(value: bigint): bigint {
  if (value > int64Max) return int64Max;
  return value < int64Min ? int64Min : value;
}

/**
 * What several amounts do to a counter that saturates at each of them, whatever the counter is: add `#sum`, then keep
 * within int64 lowered by `#below` at the top and raised by `#above` at the bottom. So the result does not depend on
 * which records happened to be collected together. Numbers while they are exact, then bigints.
 */
export class CounterSum {
  #sum: number | bigint = 0;
  /** At most 0: how far below the greatest value the counter ends if it reached that on the way. */
  #below: number | bigint = 0;
  /** At least 0: how far above the least value it ends if it reached that. */
  #above: number | bigint = 0;

  add(amount: number | bigint): void {
    if (typeof amount === "number" && typeof this.#sum === "number") {
      const sum = this.#sum + amount;
      const below = (this.#below as number) + amount;
      const above = (this.#above as number) + amount;
      if (Number.isSafeInteger(sum) && Number.isSafeInteger(below) && Number.isSafeInteger(above)) {
        this.#sum = sum;
        this.#below = Math.min(below, 0);
        this.#above = Math.max(above, 0);
        return;
      }
    }
    this.#addLarge(BigInt(amount));
  }

  #addLarge(amount: bigint): void {
    this.#sum = BigInt(this.#sum) + amount;
    // Both ends of the range move with the amount and stay within int64.
    this.#below = saturate(int64Max + BigInt(this.#below) + amount) - int64Max;
    this.#above = saturate(int64Min + BigInt(this.#above) + amount) - int64Min;
  }

  applyTo(counter: bigint): bigint {
    const sum = counter + BigInt(this.#sum);
    const top = int64Max + BigInt(this.#below);
    const bottom = int64Min + BigInt(this.#above);
    if (sum > top) return top;
    if (sum < bottom) return bottom;
    return sum;
  }
}
