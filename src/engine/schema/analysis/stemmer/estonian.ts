import { always, both, endsInOne, put, type Regions, type Rule, regionsOf, SuffixStep } from "./suffix.ts";

/** Estonian, as Snowball has it since its third release. */
const vowels = "aeiouäõöü";
const stressless = "'aeiou";
const long = /(?:aa|ee|ii|oo|uu|ää|õõ|öö|üü)$/;

/** Forms of verbs whose stem changes, as patterns of whole words. */
const present = "b|d|me|n|te|vad";
const conditional = "ks(?:id|ime|in|ite)?";
const supine = "ma(?:ta)?";
const past = "(?:d|me|n|te)?";
const exceptions: readonly (readonly [forms: RegExp, stem: string])[] = (
  [
    [`joo(?:${present}|dakse|${supine})|juua(?:kse)?|jõi${past}`, "joo"],
    [`jäi${past}|jää(?:${present}|da(?:kse)?|di|${conditional}|${supine})`, "jääma"],
    [`kee(?:${present}|dakse|${conditional}|${supine}|s|ta)`, "keesi"],
    [`käi(?:${present}|a(?:kse)?|di|${conditional}|${supine}|s)`, "käisi"],
    [`lao(?:${present}|${conditional})`, "ladu"],
    [`loe(?:${present}|${conditional})`, "luge"],
    [`loo(?:${present}|di|${conditional}|${supine})|luua(?:kse)?`, "loo"],
    [`lõi${past}`, "lõi"],
    [`löö(?:${present}|dakse|di|${conditional}|${supine})|lüüa(?:kse)?`, "löö"],
    [`müü(?:${present}|a(?:kse)?|di|${conditional}|${supine}|s)`, "müüsi"],
    [`näe(?:${present}|${conditional})|näge${supine}|näh(?:a(?:kse)?|ti)`, "nägi"],
    [`põe(?:${present}|${conditional})`, "põde"],
    [`saa(?:${present}|da(?:kse)?|di|${conditional}|${supine})|sai${past}`, "saa"],
    [`söö(?:${present}|dakse|di|${conditional}|${supine})|süüa(?:kse)?|sõi${past}`, "söö"],
    [`tee(?:${present}|${conditional})|tege${supine}|teh(?:a(?:kse)?|ti)`, "tegi"],
    [`too(?:${present}|di|${conditional}|${supine})|tuua(?:kse)?|tõi${past}`, "too"],
    [`vii(?:${present}|a(?:kse)?|di|${conditional}|${supine}|si(?:me|n|te))`, "viima"],
    [`või(?:${present}|da(?:kse)?|di|${conditional}|${supine}|s)`, "võisi"],
  ] as const
).map(([forms, stem]) => [new RegExp(`^(?:${forms})$`), stem]);

function when(holds: (stem: string) => boolean): Rule {
  return (stem) => (holds(stem) ? stem : undefined);
}

const afterVowel = when((stem) => endsInOne(stem, vowels));
const afterStressless = when((stem) => endsInOne(stem, stressless));
const afterStresslessOrLong = when((stem) => endsInOne(stem, stressless) || long.test(stem));
const ofFour = when((stem) => stem.length >= 4);

const emphasis = new SuffixStep({
  gi: both(
    ofFour,
    when((stem) => endsInOne(stem, "aceijlmnoqruvwxäõöü") && !long.test(stem)),
  ),
  ki: both(
    ofFour,
    when((stem) => endsInOne(stem, "bdfghkpstzšž")),
  ),
});
const verb = new SuffixStep({
  "da b me n": afterVowel,
  "mata ksid nuksid sime ksime nuksime dakse takse site ksite nuksite sin ksin nuksin daks taks": always,
  akse: put("a", always),
});
const substantive = [
  new SuffixStep({
    "lane lasse lasi last": put("lase", always),
    "line lisse lisi list": put("lise", always),
    "mine misse misi mist": put("mise", always),
  }),
  new SuffixStep({ "ga ta le sse l s ks lt st": afterStresslessOrLong, t: ofFour }),
  new SuffixStep({
    "d de": afterStresslessOrLong,
    sid: when((stem) => !long.test(stem)),
    "ikkude ike ikke": put("iku", always),
    te: (stem) => {
      if (stem.length < 4) return `${stem}t`;
      if (/(?:la|li|mi)s$/.test(stem)) return `${stem}e`;
      return stem.endsWith("t") ? undefined : stem;
    },
  }),
  new SuffixStep({ ma: always, "mai m": afterStressless }),
  new SuffixStep({ i: afterStressless }),
  new SuffixStep({ "va du nu tu": always }),
];

function regionOf(word: string): Regions {
  const apostrophe = word.indexOf("'", 2);
  return apostrophe === -1 ? regionsOf(word, vowels) : { first: apostrophe + 1, second: word.length };
}

export function stemEstonian(input: string): string {
  const known = exceptions.find(([forms]) => forms.test(input));
  if (known !== undefined) return known[1];
  const region = regionOf(input);
  const { first } = region;
  const plain = emphasis.apply(input, region, first) ?? input;
  let word = verb.apply(plain, region, first);
  if (word === undefined) {
    word = plain;
    for (const step of substantive) word = step.apply(word, region, first) ?? word;
  }
  if (word.length > first && endsInOne(word, vowels)) word = word.replace(/([kpt])\1(.)$/, "$1$2");
  return word.endsWith("'") ? word.slice(0, -1) : word;
}
