import type { SqlBatch } from "../../engine/sql/batch.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";

/** Where a FETCH or MOVE goes: so many rows from here, or to one row of the whole (from the end where it is negative). */
export type Move =
  | { readonly kind: "rows"; readonly count: number }
  | { readonly kind: "absolute"; readonly row: number }
  | { readonly kind: "relative"; readonly rows: number };

/** The rows of a cursor that goes back: it keeps those that it has passed, up to a limit. */
export class ScrollRows {
  readonly #next: () => Promise<SqlBatch | undefined>;
  readonly #onGrown: () => void;
  readonly #batches: { readonly batch: SqlBatch; readonly first: number }[] = [];
  /** The row that the cursor stands on, from 1; 0 before the first, one more than there are after the last. */
  #position = 0;
  #known = 0;
  #isWhole = false;
  #bytes = 0;

  constructor(next: () => Promise<SqlBatch | undefined>, onGrown: () => void) {
    this.#next = next;
    this.#onGrown = onGrown;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Goes there, and gives the rows on the way in their order. */
  async go(move: Move): Promise<{ readonly batch: SqlBatch; readonly row: number }[]> {
    if (move.kind === "rows" && move.count !== 0) return this.#run(move.count);
    const row = await this.#target(move);
    this.#position = Math.max(row, 0);
    await this.#read(this.#position);
    if (this.#position > this.#known) this.#position = this.#known + 1;
    const found = this.#at(this.#position);
    return found === undefined ? [] : [found];
  }

  async #target(move: Move): Promise<number> {
    if (move.kind === "rows") return this.#position;
    if (move.kind === "relative") return this.#position + move.rows;
    if (move.row >= 0) return move.row;
    await this.#read(Number.POSITIVE_INFINITY);
    return this.#known + 1 + move.row;
  }

  async #run(count: number) {
    const rows: { readonly batch: SqlBatch; readonly row: number }[] = [];
    if (count > 0) {
      await this.#read(this.#position + count);
      const last = Math.min(this.#position + count, this.#known);
      for (let row = this.#position + 1; row <= last; row++) rows.push(this.#at(row)!);
      this.#position = this.#position + count > this.#known ? this.#known + 1 : last;
      return rows;
    }
    const first = Math.max(this.#position + count, 1);
    for (let row = this.#position - 1; row >= first; row--) rows.push(this.#at(row)!);
    this.#position = Math.max(this.#position + count, 0);
    return rows;
  }

  async #read(rows: number): Promise<void> {
    while (!this.#isWhole && this.#known < rows) {
      const batch = await this.#next();
      if (batch === undefined) {
        this.#isWhole = true;
        return;
      }
      this.#bytes += bytesOf(batch);
      if (this.#bytes > postgresLimits.scrollBytesMax) {
        const max = postgresLimits.scrollBytesMax;
        throw new PostgresError("54000", `a cursor that scrolls keeps at most ${max} bytes; declare it without SCROLL`);
      }
      this.#onGrown();
      this.#batches.push({ batch, first: this.#known + 1 });
      this.#known += batch.rows;
    }
  }

  /** A row by its number, by halving: there may be thousands of batches. */
  #at(row: number): { readonly batch: SqlBatch; readonly row: number } | undefined {
    if (row < 1 || row > this.#known) return undefined;
    let [low, high] = [0, this.#batches.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#batches[middle]!.first <= row) low = middle;
      else high = middle - 1;
    }
    const { batch, first } = this.#batches[low]!;
    return { batch, row: row - first };
  }
}

function bytesOf({ columns }: SqlBatch): number {
  let bytes = 0;
  const open = [...columns];
  for (let column = open.pop(); column !== undefined; column = open.pop()) {
    if (column.layout === "list") {
      bytes += column.offsets.byteLength;
      open.push(column.items);
    } else if (column.layout === "struct") open.push(...column.fields);
    else if (column.layout === "bytes") bytes += column.data.byteLength + column.offsets.byteLength;
    else if (column.layout !== "null") bytes += column.data.byteLength;
  }
  return bytes;
}
