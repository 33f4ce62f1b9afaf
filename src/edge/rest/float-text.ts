/** Powers of ten at which a value of everyday size is tried, from few digits to as many as a float can tell apart. */
const scales = [1e2, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const;
/** From here on floats are whole numbers, with more digits than they can tell apart. */
const wholeMin = 2 ** 24;

/**
 * A number of single precision with few digits that give the same number again: 0.1, not 0.10000000149011612. An
 * answer of vectors is half as long for it. Rounding at a few scales finds them without printing and reading digits.
 */
function shortest(value: number): number {
  if (Math.abs(value) <= wholeMin) {
    for (const scale of scales) {
      const rounded = Math.round(value * scale) / scale;
      if (Math.fround(rounded) === value) return rounded;
    }
  }
  // Nine digits tell all floats apart.
  return Number(value.toPrecision(9));
}

export function floatsText(values: Float32Array): string {
  let text = "[";
  for (let i = 0; i < values.length; i++) text += i === 0 ? shortest(values[i]!) : `,${shortest(values[i]!)}`;
  return `${text}]`;
}
