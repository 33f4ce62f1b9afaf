interface Row<T> {
  readonly values: (T | undefined)[];
  count: number;
}

/**
 * Something for each of many partitions. A stream's lie side by side: with thousands of partitions most of what an append costs more than to a single
 * one is memory that no cache has, and a table of all of them would touch more of it.
 */
export class PartitionTable<T> {
  readonly #rows = new Map<number, Row<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(stream: number, partition: number): T | undefined {
    return this.#rows.get(stream)?.values[partition];
  }

  set(stream: number, partition: number, value: T): void {
    let row = this.#rows.get(stream);
    if (row === undefined) {
      row = { values: [], count: 0 };
      this.#rows.set(stream, row);
    }
    if (row.values[partition] === undefined) {
      row.count++;
      this.#size++;
    }
    row.values[partition] = value;
  }

  delete(stream: number, partition: number): void {
    const row = this.#rows.get(stream);
    if (row?.values[partition] === undefined) return;
    row.values[partition] = undefined;
    this.#size--;
    if (--row.count === 0) this.#rows.delete(stream);
  }

  /** By stream and partition, those of the streams up to `after` last. What is deleted meanwhile may come or not. */
  *values(after = -1): Iterable<T> {
    const rows = [...this.#rows].sort(([a], [b]) => Number(a <= after) - Number(b <= after) || a - b);
    for (const [, { values }] of rows) for (const value of values) if (value !== undefined) yield value;
  }
}
