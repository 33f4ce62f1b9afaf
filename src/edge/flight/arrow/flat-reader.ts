/**
 * Reads flatbuffers that came from outside: whatever their bytes say, nothing beyond them is read (a `RangeError`), and a
 * vector that would not fit into them is refused before anybody counts its items. The flatbuffers package checks neither:
 * its `ByteBuffer` reads 0 beyond the end, and a vector has the length that it claims.
 */
export class FlatReader {
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get root(): FlatTableReader {
    return new FlatTableReader(this.#view, this.#view.getUint32(0, true));
  }
}

export class FlatTableReader {
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  /** Where a field lies; undefined when it has its default. */
  #place(id: number): number | undefined {
    const vtable = this.#at - this.#view.getInt32(this.#at, true);
    const entry = 4 + 2 * id;
    if (entry >= this.#view.getUint16(vtable, true)) return undefined;
    const offset = this.#view.getUint16(vtable + entry, true);
    return offset === 0 ? undefined : this.#at + offset;
  }

  #target(id: number): number | undefined {
    const place = this.#place(id);
    return place === undefined ? undefined : place + this.#view.getUint32(place, true);
  }

  has(id: number): boolean {
    return this.#place(id) !== undefined;
  }

  uint8(id: number): number {
    const place = this.#place(id);
    return place === undefined ? 0 : this.#view.getUint8(place);
  }

  int16(id: number): number {
    const place = this.#place(id);
    return place === undefined ? 0 : this.#view.getInt16(place, true);
  }

  int32(id: number, absent = 0): number {
    const place = this.#place(id);
    return place === undefined ? absent : this.#view.getInt32(place, true);
  }

  int64(id: number): number {
    const place = this.#place(id);
    return place === undefined ? 0 : Number(this.#view.getBigInt64(place, true));
  }

  text(id: number): string | undefined {
    const at = this.#target(id);
    if (at === undefined) return undefined;
    const length = this.#length(at, 1);
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + at + 4, length).toString();
  }

  table(id: number): FlatTableReader | undefined {
    const at = this.#target(id);
    return at === undefined ? undefined : new FlatTableReader(this.#view, at);
  }

  tables(id: number): FlatTableReader[] {
    const at = this.#target(id);
    if (at === undefined) return [];
    return Array.from({ length: this.#length(at, 4) }, (_, i) => {
      const place = at + 4 + 4 * i;
      return new FlatTableReader(this.#view, place + this.#view.getUint32(place, true));
    });
  }

  /** A vector of structs of two 64-bit integers each. */
  pairs(id: number): (readonly [number, number])[] {
    const at = this.#target(id);
    if (at === undefined) return [];
    const number = (place: number) => Number(this.#view.getBigInt64(place, true));
    return Array.from({ length: this.#length(at, 16) }, (_, i) => {
      const place = at + 4 + 16 * i;
      return [number(place), number(place + 8)] as const;
    });
  }

  #length(at: number, itemBytes: number): number {
    const length = this.#view.getUint32(at, true);
    if (at + 4 + length * itemBytes > this.#view.byteLength)
      throw new RangeError("a vector is longer than its message");
    return length;
  }
}
