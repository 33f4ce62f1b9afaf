/** One scrape: samples by metric name. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
export type Scrape = ReadonlyMap<string, readonly Sample[]>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parseScrape(text: string): Scrape {
  const scrape = new Map<string, Sample[]>();
  for (const each of text.split("\n")) {
    if (each === "" || each.startsWith("#")) continue;
    const match = line.exec(each);
    if (match === null) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (match[2] ?? "").matchAll(label)) labels[name!] = value!.replaceAll(/\\(.)/g, "$1");
    const value = match[3] === "+Inf" ? Number.POSITIVE_INFINITY : Number(match[3]);
    const samples = scrape.get(match[1]!);
    if (samples === undefined) scrape.set(match[1]!, [{ labels, value }]);
    else samples.push({ labels, value });
  }
  return scrape;
}

type Pick = (labels: Sample["labels"]) => boolean;
const all: Pick = () => true;

export function sum(scrape: Scrape, name: string, pick: Pick = all): number {
  let total = 0;
  for (const { labels, value } of scrape.get(name) ?? []) if (pick(labels)) total += value;
  return total;
}

/** Growth of a counter by second; a counter that fell was started anew. */
export function rate(before: Scrape, now: Scrape, elapsedS: number, name: string, pick: Pick = all): number {
  const was = sum(before, name, pick);
  const is = sum(now, name, pick);
  return (is < was ? is : is - was) / elapsedS;
}

/**
 * A quantile of what a histogram observed between two scrapes, over all the label sets that are picked, interpolated
 * within its bucket; undefined when there was nothing.
 */
export function quantile(before: Scrape, now: Scrape, name: string, q: number, pick: Pick = all): number | undefined {
  const counts = new Map<number, number>();
  const add = (scrape: Scrape, sign: number) => {
    for (const { labels, value } of scrape.get(`${name}_bucket`) ?? []) {
      if (!pick(labels)) continue;
      const bound = labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]);
      counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
    }
  };
  add(now, 1);
  add(before, -1);
  const bounds = [...counts.keys()].sort((a, b) => a - b);
  const total = counts.get(Number.POSITIVE_INFINITY) ?? 0;
  if (total <= 0) return undefined;
  const wanted = q * total;
  let lower = 0;
  let below = 0;
  for (const bound of bounds) {
    const upTo = counts.get(bound)!;
    if (upTo >= wanted) {
      if (bound === Number.POSITIVE_INFINITY) return lower;
      return lower + ((bound - lower) * (wanted - below)) / Math.max(1, upTo - below);
    }
    lower = bound;
    below = upTo;
  }
  return lower;
}
