/** Typed arrays that grow by doubling. One class per element type keeps each call site to one shape. */

function grownLength(current: number, needed: number): number {
  return Math.max(16, current * 2, needed);
}

export class U8List {
  data = new Uint8Array(16);
  length = 0;

  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.data.length) return;
    const grown = new Uint8Array(grownLength(this.data.length, needed));
    grown.set(this.data);
    this.data = grown;
  }

  push(value: number): void {
    if (this.length === this.data.length) this.reserve(1);
    this.data[this.length++] = value;
  }

  /** Seven bits a byte, low bits first, the high bit set on all bytes but the last. */
  pushVarint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.push((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.push(rest);
  }

  append(values: Uint8Array): void {
    this.reserve(values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }

  view(): Uint8Array {
    return this.data.subarray(0, this.length);
  }
}

export class U16List {
  data = new Uint16Array(16);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) {
      const grown = new Uint16Array(this.length * 2);
      grown.set(this.data);
      this.data = grown;
    }
    this.data[this.length++] = value;
  }

  view(): Uint16Array {
    return this.data.subarray(0, this.length);
  }
}

export class U32List {
  data = new Uint32Array(16);
  length = 0;

  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.data.length) return;
    const grown = new Uint32Array(grownLength(this.data.length, needed));
    grown.set(this.data);
    this.data = grown;
  }

  push(value: number): void {
    if (this.length === this.data.length) this.reserve(1);
    this.data[this.length++] = value;
  }

  view(): Uint32Array {
    return this.data.subarray(0, this.length);
  }
}

export class F32List {
  data = new Float32Array(16);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) this.#grow(1);
    this.data[this.length++] = value;
  }

  append(values: Float32Array): void {
    if (this.length + values.length > this.data.length) this.#grow(values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }

  #grow(more: number): void {
    const grown = new Float32Array(grownLength(this.data.length, this.length + more));
    grown.set(this.data);
    this.data = grown;
  }

  view(): Float32Array {
    return this.data.subarray(0, this.length);
  }
}

export class F64List {
  data = new Float64Array(16);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) {
      const grown = new Float64Array(this.length * 2);
      grown.set(this.data);
      this.data = grown;
    }
    this.data[this.length++] = value;
  }

  view(): Float64Array {
    return this.data.subarray(0, this.length);
  }
}
