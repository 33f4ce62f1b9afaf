interface MediaRange {
  readonly type: string;
  readonly quality: number;
  readonly place: number;
}

/**
 * Which of the offered media types an `Accept` header prefers (RFC 9110, 12.5.1): by quality, then by how exactly the header names it,
 * then by the header's order, then by ours. The first one where it accepts none.
 */
export function preferredType(accept: string, offered: readonly string[]): number {
  const ranges = accept.toLowerCase().split(",").map(rangeOf);
  const found = offered.map((type) => {
    const names = [type, `${type.slice(0, type.indexOf("/"))}/*`, "*/*"];
    const matching = names.map((name) => ranges.find((range) => range.type === name));
    const exactness = matching.findIndex((range) => range !== undefined);
    const { quality, place } = matching[exactness] ?? { quality: 0, place: 0 };
    return { quality, exactness, place };
  });
  let best = 0;
  for (let i = 1; i < found.length; i++) {
    const [a, b] = [found[i]!, found[best]!];
    const order = a.quality - b.quality || b.exactness - a.exactness || b.place - a.place;
    if (a.quality > 0 && order > 0) best = i;
  }
  return best;
}

function rangeOf(text: string, place: number): MediaRange {
  const [type = "", ...parameters] = text.split(";").map((each) => each.trim());
  const weight = parameters.find((each) => each.startsWith("q="));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  // What is no number is taken for not acceptable, as one that is out of range.
  return { type, quality: quality >= 0 && quality <= 1 ? quality : 0, place };
}
