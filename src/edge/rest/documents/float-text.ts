/** Digits after the point that are tried, from few to as many as tell floats of everyday size apart. */
const tried = [2, 4, 5, 6, 7, 8, 9] as const;
const powers = Float64Array.from({ length: 10 }, (_, digits) => 10 ** digits);
/** Outside of these the digits of a value are found by the runtime. */
const plainMin = 1e-3;
const plainMax = 2 ** 20;
/** The longest text of one value, with its comma. */
const valueBytesMax = 32;

const zero = 0x30;
const minus = 0x2d;
const point = 0x2e;
const comma = 0x2c;

/**
 * Numbers of single precision with few digits that give the same numbers again: 0.1, not 0.10000000149011612. Written
 * digit by digit from a whole number: a document's vectors are most of its answer, and printing each value as a double
 * took most of the time of a point read (380 ns a value, against 90).
 */
class FloatWriter {
  #bytes = Buffer.allocUnsafe(4096);
  #at = 0;

  text(values: Float32Array): string {
    const needed = values.length * valueBytesMax + 2;
    if (this.#bytes.length < needed) this.#bytes = Buffer.allocUnsafe(needed);
    this.#at = 0;
    this.#bytes[this.#at++] = 0x5b;
    for (let i = 0; i < values.length; i++) {
      if (i > 0) this.#bytes[this.#at++] = comma;
      this.#value(values[i]!);
    }
    this.#bytes[this.#at++] = 0x5d;
    return this.#bytes.latin1Slice(0, this.#at);
  }

  #value(value: number): void {
    const size = Math.abs(value);
    if (size >= plainMin && size < plainMax) {
      for (const digits of tried) {
        const scaled = Math.round(size * powers[digits]!);
        if (Math.fround(scaled / powers[digits]!) !== size) continue;
        if (value < 0) this.#bytes[this.#at++] = minus;
        this.#decimal(scaled, digits);
        return;
      }
    }
    const short = Number(value.toPrecision(7));
    // Nine digits tell all floats apart.
    const exact = Math.fround(short) === value ? short : Number(value.toPrecision(9));
    this.#at += this.#bytes.latin1Write(String(exact), this.#at);
  }

  /** `scaled` / 10^digits, without zeroes at its end. */
  #decimal(scaled: number, digits: number): void {
    const bytes = this.#bytes;
    const whole = Math.floor(scaled / powers[digits]!);
    let rest = (scaled - whole * powers[digits]!) | 0;
    this.#whole(whole);
    if (rest === 0) return;
    bytes[this.#at] = point;
    let end = this.#at;
    for (let i = this.#at + digits; i > this.#at; i--) {
      const next = (rest / 10) | 0;
      const digit = rest - next * 10;
      rest = next;
      bytes[i] = zero + digit;
      if (end === this.#at && digit !== 0) end = i;
    }
    this.#at = end + 1;
  }

  #whole(number: number): void {
    let length = 1;
    while (length < powers.length - 1 && number >= powers[length]!) length++;
    let rest = number | 0;
    for (let i = this.#at + length - 1; i >= this.#at; i--) {
      const next = (rest / 10) | 0;
      this.#bytes[i] = zero + rest - next * 10;
      rest = next;
    }
    this.#at += length;
  }
}

const writer = new FloatWriter();

export function floatsText(values: Float32Array): string {
  return writer.text(values);
}
