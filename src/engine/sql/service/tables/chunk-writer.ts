import type { Cell, CellItem } from "../../document-cells.ts";
import { type Appender, chunkRowsMax, type LogicalType, lib, Type, type Vector } from "../duckdb.ts";

/**
 * Adds rows to a table through chunks, laid out here as DuckDB has them: a call for each number would cost more than
 * all the rest.
 */
export class ChunkWriter {
  readonly #appender: Appender;
  readonly #types: readonly LogicalType[];
  readonly #ids: readonly number[];
  readonly #columns: Cell[][];
  #rows = 0;

  constructor(appender: Appender) {
    this.#appender = appender;
    this.#types = appender.types;
    this.#ids = this.#types.map((type) => lib.get_type_id(type));
    this.#columns = this.#types.map(() => new Array<Cell>(chunkRowsMax));
  }

  /** No row waits for its chunk. */
  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  add(cells: readonly Cell[]): void {
    for (let i = 0; i < this.#columns.length; i++) this.#columns[i]![this.#rows] = cells[i];
    this.#rows++;
    if (this.#rows === chunkRowsMax) this.flush();
  }

  flush(): void {
    const rows = this.#rows;
    if (rows === 0) return;
    const chunk = lib.create_data_chunk(this.#types);
    lib.data_chunk_set_size(chunk, rows);
    for (const [i, cells] of this.#columns.entries()) {
      const vector = lib.data_chunk_get_vector(chunk, i);
      writeValidity(vector, cells, rows);
      writeCells(vector, this.#ids[i]!, this.#types[i]!, cells, rows);
    }
    this.#appender.append(chunk);
    this.#rows = 0;
  }

  /** Everything is in the table then, of the connection's transaction. */
  close(): void {
    this.flush();
    this.#appender.close();
  }
}

function writeValidity(vector: Vector, cells: readonly Cell[], rows: number): void {
  let bits: Uint8Array | undefined;
  for (let i = 0; i < rows; i++) {
    if (cells[i] !== undefined) continue;
    bits ??= new Uint8Array(Math.ceil(rows / 64) * 8).fill(0xff);
    bits[i >> 3]! &= ~(1 << (i & 7));
  }
  if (bits === undefined) return;
  lib.vector_ensure_validity_writable(vector);
  lib.copy_data_to_vector_validity(vector, 0, bits.buffer as ArrayBuffer, 0, bits.length);
}

function copyIn(vector: Vector, data: ArrayBufferView): void {
  lib.copy_data_to_vector(vector, 0, data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
}

function writeCells(vector: Vector, id: number, type: LogicalType, cells: readonly Cell[], rows: number): void {
  switch (id) {
    case Type.BLOB:
      for (let i = 0; i < rows; i++) {
        const cell = cells[i];
        if (cell !== undefined) lib.vector_assign_string_element_len(vector, i, cell as Uint8Array);
      }
      return;
    case Type.VARCHAR:
      for (let i = 0; i < rows; i++) {
        const cell = cells[i];
        if (cell !== undefined) lib.vector_assign_string_element(vector, i, cell as string);
      }
      return;
    case Type.BOOLEAN:
      copyIn(
        vector,
        Uint8Array.from({ length: rows }, (_, i) => (cells[i] === true ? 1 : 0)),
      );
      return;
    case Type.INTEGER:
      copyIn(
        vector,
        Int32Array.from({ length: rows }, (_, i) => Number(cells[i] ?? 0)),
      );
      return;
    case Type.DOUBLE: {
      const data = new Float64Array(rows);
      for (let i = 0; i < rows; i++) data[i] = (cells[i] as number | undefined) ?? 0;
      copyIn(vector, data);
      return;
    }
    case Type.BIGINT:
    case Type.TIMESTAMP_TZ: {
      const data = new BigInt64Array(rows);
      for (let i = 0; i < rows; i++) {
        const cell = cells[i] as number | bigint | undefined;
        data[i] = cell === undefined ? 0n : BigInt(cell);
      }
      copyIn(vector, data);
      return;
    }
    case Type.ARRAY: {
      const size = lib.array_type_array_size(type);
      const data = new Float32Array(rows * size);
      for (let i = 0; i < rows; i++) {
        const cell = cells[i] as Float32Array | undefined;
        if (cell !== undefined) data.set(cell, i * size);
      }
      copyIn(lib.array_vector_get_child(vector), data);
      return;
    }
    case Type.LIST:
      writeLists(vector, type, cells, rows);
      return;
    default:
      throw new Error(`no cells of type ${id} are written`);
  }
}

/** The items of all lists lie one after another; a row has where its own begin, and how many they are. */
function writeLists(vector: Vector, type: LogicalType, cells: readonly Cell[], rows: number): void {
  const entries = new BigUint64Array(2 * rows);
  const items: CellItem[] = [];
  for (let i = 0; i < rows; i++) {
    const list = (cells[i] as readonly CellItem[] | undefined) ?? [];
    entries[2 * i] = BigInt(items.length);
    entries[2 * i + 1] = BigInt(list.length);
    for (const item of list) items.push(item);
  }
  lib.list_vector_reserve(vector, items.length);
  lib.list_vector_set_size(vector, items.length);
  const item = lib.list_type_child_type(type);
  writeCells(lib.list_vector_get_child(vector), lib.get_type_id(item), item, items, items.length);
  copyIn(vector, entries);
}
