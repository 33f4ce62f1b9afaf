/**
 * Requests that are answered at once and come one after another, such as appends: as long as there are any, work that can
 * wait takes less of the processor. Counted for the whole process, in memory that its threads share.
 */
class ShortRequests {
  readonly counter = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  get count(): number {
    return this.counter[0]!;
  }

  came(): void {
    this.counter[0]!++;
  }
}

export const shortRequests = new ShortRequests();
