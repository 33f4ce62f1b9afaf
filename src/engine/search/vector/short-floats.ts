/** Digits after the point that are tried, from few to as many as tell floats of everyday size apart. */
const powers = [1e2, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const;
/** Outside of these the digits of a value are found by the runtime, which takes four times as long. */
const plainMin = 1e-3;
const plainMax = 2 ** 20;

/** The number with the fewest digits that is the same in single precision: 0.1, not 0.10000000149011612. */
function shortFloat(value: number): number {
  const size = Math.abs(value);
  if (size >= plainMin && size < plainMax) {
    for (const power of powers) {
      const short = Math.round(value * power) / power;
      if (Math.fround(short) === value) return short;
    }
  }
  const short = Number(value.toPrecision(7));
  // Nine digits tell all floats apart.
  return Math.fround(short) === value ? short : Number(value.toPrecision(9));
}

/** A vector's numbers as they were written, wherever it is shown. */
export function shortFloats(values: ArrayLike<number>): number[] {
  return Array.from(values, shortFloat);
}
