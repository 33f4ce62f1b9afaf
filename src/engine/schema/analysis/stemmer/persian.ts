import { always, inFirst, put, type Regions, SuffixStep } from "./suffix.ts";

/** Persian, as Snowball has it since its third release. */
const letters: Readonly<Record<string, string>> = {
  "\u0643": "ک",
  "\u064a": "ی",
  "\u0626": "ی",
  "\u0629": "ه",
  "\u06c1": "ه",
  "\u0623": "ا",
  "\u0625": "ا",
  "\u0624": "و",
  "\u200d": "",
  " ": "",
};
const otherLetters = new RegExp(`[${Object.keys(letters).join("")}]`, "g");
const joiner = "\u200c";

/** Words whose -an is no ending, and ends of such words. */
const lexical: ReadonlySet<string> = new Set(
  `آذربایجان همدان خاندان زندان میزان درخشان آتشفشان نشان کهکشان ایشان پریشان سلطان گیلان ساختمان رمان درمان قهرمان کرمان
   سازمان همزمان آسمان آلمان مسلمان ایمان سلیمان پیمان لبنان یونان اصفهان امکان پایان بیان جریان`.split(/\s+/),
);
const lexicalEnd = /(?:ستان|ران|سان|وان)$/;

const irregular = new SuffixStep({ اخبار: put("خبر", always), اساتید: put("استاد", always) });
const nominal = new SuffixStep({
  "ها ات یت مند وار گار اش ام ان بان گان یان ین ترین گاه انه ناک های انی گی یی": always,
  تر: (stem, { first }) => (stem.length > first ? stem : undefined),
});
const copula = new SuffixStep({ "است اند ید اید اس یم ایم ای": inFirst });
const participle = put("ت", (stem) => stem || undefined);
const past = put("د", (stem) => stem || undefined);
const shared = {
  "رفتاند رفتید رفتم رفتیم رفتی": put("رفت", always),
  "ان نده": inFirst,
  ته: participle,
  ده: past,
};
const persons = "د اند ید م ام یم";
const verbal = new SuffixStep({ ...shared, [persons]: () => undefined });
const present = new SuffixStep({ ...shared, [persons]: inFirst });

export function stemPersian(input: string): string {
  const plain = input.replace(otherLetters, (letter) => letters[letter]!);
  const prefix = /^ن?می\u200c(?=..)/s.exec(plain)?.[0];
  let word = (prefix?.startsWith("م") ? plain.slice(prefix.length) : plain).replaceAll(joiner, "");
  const first = Math.min(word.length, 3);
  const regions: Regions = { first, second: first };
  const verb = prefix === undefined ? verbal : present;
  while (!lexical.has(word) && !lexicalEnd.test(word)) {
    const shorter =
      irregular.apply(word, regions) ??
      (word.length < first ? undefined : nominal.apply(word, regions, first)) ??
      copula.apply(word, regions) ??
      verb.apply(word, regions);
    if (shorter === undefined) break;
    word = shorter;
  }
  return word;
}
