import { always, both, endsInOne, inFirst, put, type Regions, type Rule, SuffixStep } from "./suffix.ts";

/** Yiddish, as Snowball has it since its third release. */
const vowels = "אויעױײ";
const consonants = "בגדהזחטךכלםמןנסףפץצקרשתװ";

/** Letters that are written as two, and those of a word's end. */
const letters: Readonly<Record<string, string>> = {
  וו: "װ",
  וי: "ױ",
  יי: "ײ",
  ך: "כ",
  ם: "מ",
  ן: "נ",
  ף: "פ",
  ץ: "צ",
};
const otherLetters = /וו(?!\u05bc)|[וי]י(?!\u05b4)|[ךםןףץ]/g;
const points = /[\u05b0-\u05b9\u05bb\u05bc\u05bf\u05c1\u05c2]/g;

/** What stands for the prefixes of participles and infinitives until the end, where it goes. */
const participle = "GE";
const infinitive = "TSU";
const marks = /GE|TSU/g;

const prefixes = new RegExp(
  `^(?:${`אדורכ אהינ אהער אהײמ אומ אונטער איבער אנ אנט אנטקעגנ אנידער אפ אפיר אקעגנ אראפ ארומ ארונטער אריבער ארױס ארױפ ארײנ אװעק אױס
   אױפ אײנ בא בײ דורכ דער מיט נאכ פאר פארבײ פארױס פונאנדער צו צוזאמענ צונױפ צוריק צע`
    .split(/\s+/)
    .sort((a, b) => b.length - a.length)
    .join("|")})`,
);

/** The word with its inner prefixes marked, and where what follows all of them begins. */
function marked(word: string): { readonly word: string; readonly start: number } {
  const isParticiple = /^גע(?!לט|בנ|$)/.test(word);
  const first = isParticiple ? participle + word.slice(2) : word;
  const before = isParticiple ? 2 : 0;
  const start = before + (prefixes.exec(first.slice(before))?.[0].length ?? 0);
  const rest = first.slice(start);
  if (start === before) return { word: first, start };
  if (/^צו(?:גנ|קט|קנ)$/.test(rest) || rest.startsWith("געבנ")) return { word: first, start };
  for (const [prefix, mark] of [
    ["גע", participle],
    ["צו", infinitive],
  ] as const) {
    if (!rest.startsWith(prefix)) continue;
    return { word: first.slice(0, start) + mark + rest.slice(2), start: start + mark.length };
  }
  return { word: first, start: before };
}

/** Where the part begins that suffixes are taken from; `length` is that of the word before it was marked. */
function firstOf(word: string, start: number, length: number): number {
  if (start + 3 > word.length) return length;
  let i = start + (/^(?:דזש|שטר|שטש|שפר)/.test(word.slice(start)) ? 3 : 0);
  const isConsonant = (at: number) => at < word.length && consonants.includes(word[at]!);
  if (isConsonant(i) && isConsonant(i + 1) && isConsonant(i + 2)) return i + 3;
  while (i < word.length && !vowels.includes(word[i]!)) i++;
  while (i < word.length && vowels.includes(word[i]!)) i++;
  return i < word.length ? Math.max(i, start + 3) : length;
}

/** Past stems, and the stems that they belong to. */
const past: Readonly<Record<string, string>> = {
  גאנג: "גײ",
  נומ: "נעמ",
  מיט: "מײד",
  ביט: "בײט",
  ביס: "בײס",
  װיז: "װײז",
  טריב: "טרײב",
  ליט: "לײט",
  קליב: "קלײב",
  ריב: "רײב",
  ריס: "רײס",
  שװיג: "שװײג",
  שמיס: "שמײס",
  שניט: "שנײד",
  שריב: "שרײב",
  בונד: "בינד",
  װוטש: "װיטש",
  זונג: "זינג",
  טרונק: "טרינק",
  צװונג: "צװינג",
  שלונג: "שלינג",
  בױג: "בײג",
  הױב: "הײב",
  פארלױר: "פארליר",
  שטאנ: "שטײ",
  שװױר: "שװער",
};
const pastStems = new SuffixStep(mapped((stem) => stem));
/** The participles of these; some need their prefix to be told from other words, and some have the longer ending. */
const participles = mapped((stem) => {
  const prefix = ["מיט", "ביט", "ביס", "ליט", "ריס"].includes(stem) ? participle : "";
  return `${prefix}${stem}${["גאנג", "נומ", "שטאנ"].includes(stem) ? "ענ" : "נ"}`;
});

function mapped(form: (stem: string) => string): Readonly<Record<string, Rule>> {
  return Object.fromEntries(Object.entries(past).map(([stem, present]) => [form(stem), put(present, always)]));
}

const withPresent: Rule = (stem, regions) => pastStems.apply(stem, regions) ?? stem;
const withBring: Rule = (stem) => stem.replace(/(?:גע)?בראכ$/, "ברענג");

const endings = new SuffixStep({
  יע: () => undefined,
  "ונג סטו ט סט עט שאפט הײט קײט יקײט לעכ עלעכ יזמ ימ עמ נ סטנ יסטנ עטנ ענ עלענ יזמענ ס עטס נס עס עלעס ערס ענערס ע סטע עטע עלע ער סטער עטער":
    inFirst,
  יעס: put("יע", inFirst),
  "ענעמ ענס ענע ענער": both(inFirst, withPresent),
  "טענעמ טנ טס טנס טע טענע טער טענער": both((stem, regions) => inFirst(stem, regions) ?? `${stem}ט`, withBring),
  ...participles,
  גײנ: put("גײ", always),
  בראכט: put("ברענג", always),
  ות: put("ה", inFirst),
  יסט: (stem, regions) => {
    if (!endsInOne(stem, "גש")) return inFirst(stem, regions);
    return stem.length + 2 >= regions.first ? `${stem}יס` : undefined;
  },
});
const nouns = new SuffixStep({
  "ונג שאפט הײט קײט יקײט": inFirst,
  ל: both(inFirst, (stem) => (endsInOne(stem, consonants) ? stem : undefined)),
});
const adjectives = new SuffixStep({ "בליק גליק": () => undefined, "יג יק דיק נדיק ענדיק ניק יש": inFirst });

export function stemYiddish(input: string): string {
  const plain = input.replace(otherLetters, (letter) => letters[letter]!).replace(points, "");
  const { word: whole, start } = marked(plain);
  const first = firstOf(whole, start, plain.length);
  const regions: Regions = { first, second: first };
  let word = whole;
  for (const step of [endings, nouns, adjectives]) word = step.apply(word, regions) ?? word;
  return word.replace(marks, "");
}
