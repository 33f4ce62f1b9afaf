import { always, both, endsInOne, inFirst, put, type Regions, type Rule, SuffixStep } from "./suffix.ts";

/** Czech, as Snowball has it since its third release. */
const vowels = "aeiouyáéíóúýěů";
const syllabic = `${vowels}lr`;

/** The region begins after the first vowel that a consonant follows, and after three letters. */
function regionOf(word: string): Regions {
  let i = 1;
  if (!vowels.includes(word[0]!)) {
    while (i < word.length && !syllabic.includes(word[i]!)) i++;
    i++;
  }
  while (i < word.length && vowels.includes(word[i]!)) i++;
  const first = i < word.length ? Math.max(i + 1, 3) : word.length;
  return { first, second: word.length };
}

/** An ending has made the consonant before it soft: take it back. */
const beforeE = new SuffixStep({ c: put("k", always), ínc: put("ínk", always), "nc avc ovc": () => undefined });
const beforeI = new SuffixStep({
  c: put("k", always),
  ínc: put("ínk", always),
  čt: put("ck", always),
  št: put("sk", always),
  "nc avc ovc dešt lešt išt poušt ášt íšt": () => undefined,
});
const hardE: Rule = (stem, regions) => beforeE.apply(stem, regions) ?? stem;
const hardI: Rule = (stem, regions) => beforeI.apply(stem, regions) ?? stem;

function when(holds: (stem: string) => boolean): Rule {
  return (stem) => (holds(stem) ? stem : undefined);
}

const closed = when((stem) => stem !== "" && !endsInOne(stem, vowels));
const young: Rule = (stem) => (/(?:[čřž]|(?<!t)l|(?<!e)s)$/.test(stem) && !stem.endsWith("eč") ? stem : `${stem}et`);

const cases = new SuffixStep({
  "a ama ata ěte atech ách ých mi ami ými ěmi ěti ovi ětem ám ém ým ěm ům atům o ého us at u ému ou y aty á é ové ý ě ů":
    always,
  "e ech emi em": hardE,
  "ete eti etem": young,
  eb: put(
    "b",
    both(
      closed,
      when((stem) => !stem.endsWith("tř")),
    ),
  ),
  ec: both(put("c", closed), hardE),
  ek: put(
    "k",
    both(
      closed,
      when((stem) => !/(?:obl|sn|dot)$/.test(stem)),
    ),
  ),
  ěk: (stem) => (stem.endsWith("n") ? `${stem.slice(0, -1)}ňk` : undefined),
  eň: put(
    "n",
    when((stem) => endsInOne(stem, "bcdhkprstvzčšž")),
  ),
  et: put(
    "t",
    when((stem) => /(?:uc|h|ok|kar|č)$/.test(stem)),
  ),
  ev: put(
    "v",
    when((stem) => endsInOne(stem, "hknrtz")),
  ),
  "ťmi ť": put("t", always),
  "ích i ími ím ího ímu í": hardI,
});
const possessives = new SuffixStep({ "ov ův": inFirst, in: both(inFirst, hardI) });

export function stemCzech(input: string): string {
  if (input.length < 3) return input;
  const region = regionOf(input);
  const word = cases.apply(input, region, region.first) ?? input;
  return possessives.apply(word, region) ?? word;
}
