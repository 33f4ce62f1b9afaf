/** Letters that may be wrong. */
const distanceMax = 2;

/** The word that was most likely meant, if one is near. */
export function nearest(typo: string, words: readonly string[]): string | undefined {
  const near = words
    .map((word) => [word, distance(typo, word)] as const)
    .filter(([word, far]) => far <= Math.min(distanceMax, word.length - 1))
    .sort(([, a], [, b]) => a - b);
  return near[0]?.[0];
}

/** The option that was most likely meant, as it is written; `given` has its dashes. */
export function nearestOption(typo: string, options: readonly { readonly name: string }[]): string | undefined {
  return nearest(
    typo,
    options.map(({ name }) => `--${name}`),
  );
}

/** How many letters have to be put in, taken out or changed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
