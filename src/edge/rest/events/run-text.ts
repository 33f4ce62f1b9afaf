const digitZero = 0x30;
/** Longer answers are put together as text: their memory is not worth keeping. */
const bytesMax = 64 * 1024;

/**
 * The results of events that were appended one after another, as JSON without its brackets. They differ in their offsets
 * alone, so the text of the last ones is kept and the digits are written over it: put together from pieces, such an answer
 * would cost as much as reading its request.
 */
class RunText {
  readonly #bytes = Buffer.allocUnsafeSlow(bytesMax);
  readonly #digits = new Uint8Array(16);
  /** What the results in `bytes` have in common, and how many they are. */
  #partition = -1;
  #width = 0;
  #count = 0;
  /** Where the first one's offset begins, and how far it is to the next one's. */
  #first = 0;
  #step = 0;

  /** Undefined where the offsets have different numbers of digits, or would take too much room. */
  write(partition: number, baseOffset: number, count: number): string | undefined {
    const base = String(baseOffset);
    const width = base.length;
    if (String(baseOffset + count - 1).length !== width) return undefined;
    if (partition !== this.#partition || width !== this.#width) this.#prepare(partition, width);
    const end = count * this.#step - 1;
    if (end > bytesMax) return undefined;
    while (this.#count < count) this.#repeat();
    const digits = this.#digits;
    for (let i = 0; i < width; i++) digits[i] = base.charCodeAt(i);
    const bytes = this.#bytes;
    const step = this.#step;
    for (let i = 0, at = this.#first; i < count; i++, at += step) {
      for (let digit = 0; digit < width; digit++) bytes[at + digit] = digits[digit]!;
      let last = width - 1;
      while (last >= 0 && digits[last] === digitZero + 9) digits[last--] = digitZero;
      if (last >= 0) digits[last]!++;
    }
    return bytes.latin1Slice(0, end);
  }

  #prepare(partition: number, width: number): void {
    this.#partition = partition;
    this.#width = width;
    this.#count = 1;
    const start = `{"status":"appended","partition":${partition},"offset":`;
    this.#first = start.length;
    this.#step = this.#bytes.latin1Write(`${start}${"0".repeat(width)}},`);
  }

  /** Doubles the results in memory, as far as there is room. */
  #repeat(): void {
    const bytes = this.#count * this.#step;
    this.#bytes.copy(this.#bytes, bytes, 0, bytes);
    this.#count = Math.floor(Math.min(2 * bytes, bytesMax) / this.#step);
  }
}

let shared: RunText | undefined;

export function runText(partition: number, baseOffset: number, count: number): string | undefined {
  shared ??= new RunText();
  return shared.write(partition, baseOffset, count);
}
