/**
 * Writes flatbuffers, as far as Arrow's messages need them. A table is given as its fields in the order of their ids.
 *
 * Everything is written forwards: a table, then what it refers to, so that every reference points ahead as it must.
 */
export type FlatTable = readonly FlatField[];

export type FlatField =
  /** The default. */
  | undefined
  | { readonly int: number; readonly bytes: 1 | 2 | 4 | 8 }
  | { readonly table: FlatTable }
  | { readonly text: string }
  | { readonly tables: readonly FlatTable[] }
  | { readonly ints: readonly number[] }
  /** A vector of structs of two 64-bit integers each. */
  | { readonly pairs: readonly number[] };

export const int8 = (int: number): FlatField => ({ int, bytes: 1 });
export const int16 = (int: number): FlatField => ({ int, bytes: 2 });
export const int32 = (int: number): FlatField => ({ int, bytes: 4 });
export const int64 = (int: number): FlatField => ({ int, bytes: 8 });
export const bool = (value: boolean): FlatField => ({ int: value ? 1 : 0, bytes: 1 });

export function writeFlat(root: FlatTable): Uint8Array<ArrayBuffer> {
  const writer = new FlatWriter();
  writer.refer(writer.reserve(4, 4), { table: root });
  return writer.finish();
}

class FlatWriter {
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(512);
  #end = 0;

  finish(): Uint8Array<ArrayBuffer> {
    this.#align(8);
    return this.#bytes.subarray(0, this.#end);
  }

  /** The place of the next `size` bytes, which are zero. */
  reserve(size: number, align: number): number {
    this.#align(align);
    const at = this.#end;
    this.#grow(at + size);
    this.#end = at + size;
    return at;
  }

  #align(to: number): void {
    this.#end = Math.ceil(this.#end / to) * to;
    this.#grow(this.#end);
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(size, 2 * this.#bytes.length));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  /** Writes what a field refers to, and the way to it at `from`. */
  refer(from: number, field: Exclude<FlatField, undefined | { int: number }>): void {
    const to = this.#write(field);
    this.#bytes.writeUInt32LE(to - from, from);
  }

  #write(field: Exclude<FlatField, undefined | { int: number }>): number {
    if ("table" in field) return this.#table(field.table);
    if ("text" in field) return this.#text(field.text);
    if ("pairs" in field) return this.#pairs(field.pairs);
    if ("ints" in field) {
      const at = this.#vector(field.ints.length, 4, 4);
      for (const [i, value] of field.ints.entries()) this.#bytes.writeInt32LE(value, at + 4 + 4 * i);
      return at;
    }
    const at = this.#vector(field.tables.length, 4, 4);
    for (const [i, table] of field.tables.entries()) this.refer(at + 4 + 4 * i, { table });
    return at;
  }

  /** A length and so many items, of which the first is aligned. */
  #vector(length: number, itemBytes: number, align: number): number {
    this.#align(4);
    while ((this.#end + 4) % align !== 0) this.#end += 4;
    const at = this.reserve(4 + length * itemBytes, 4);
    this.#bytes.writeUInt32LE(length, at);
    return at;
  }

  #text(text: string): number {
    const length = Buffer.byteLength(text);
    // One more for the zero at the end.
    const at = this.reserve(4 + length + 1, 4);
    this.#bytes.writeUInt32LE(length, at);
    this.#bytes.write(text, at + 4);
    return at;
  }

  #pairs(pairs: readonly number[]): number {
    const at = this.#vector(pairs.length / 2, 16, 8);
    for (let i = 0; i < pairs.length; i++) this.#int64(at + 4 + 8 * i, pairs[i]!);
    return at;
  }

  #int64(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value >>> 0, at);
    this.#bytes.writeInt32LE(Math.floor(value / 2 ** 32), at + 4);
  }

  #table(fields: FlatTable): number {
    const vtable = this.reserve(4 + 2 * fields.length, 2);
    const at = this.reserve(4, 4);
    const places = fields.map((field) => {
      if (field === undefined) return 0;
      const size = "bytes" in field ? field.bytes : 4;
      return this.reserve(size, size);
    });
    this.#bytes.writeUInt16LE(4 + 2 * fields.length, vtable);
    this.#bytes.writeUInt16LE(this.#end - at, vtable + 2);
    this.#bytes.writeInt32LE(at - vtable, at);
    for (const [i, field] of fields.entries()) {
      if (field === undefined) continue;
      const place = places[i]!;
      this.#bytes.writeUInt16LE(place - at, vtable + 4 + 2 * i);
      if (!("bytes" in field)) this.refer(place, field);
      else if (field.bytes === 8) this.#int64(place, field.int);
      else this.#bytes.writeIntLE(field.int, place, field.bytes);
    }
    return at;
  }
}
