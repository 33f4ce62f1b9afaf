/** Esperanto, as Snowball has it since its third release. */
const written: Readonly<Record<string, string>> = { cx: "ĉ", gx: "ĝ", hx: "ĥ", jx: "ĵ", sx: "ŝ", ux: "ŭ" };
const accented: Readonly<Record<string, string>> = { á: "a", é: "e", í: "i", ó: "o", ú: "u" };

function lastPart(words: string, ending = ""): RegExp {
  return new RegExp(`(?:^|-)(?:${words.trim().split(/\s+/).join("|")})${ending}$`);
}

const elidedVerb = /^'(?=st(?:as|is?|os|us?)$)/;
const pronoun = lastPart("ci gi hi li ili ŝli mi ni oni ri si vi ivi ĝi ŝi iŝi malŝi", "n?");
const elidedAdverb = lastPart(
  `amb bald malbald morg postmorg adi hodi ank ĉirk tutĉirk presk almen apen hier antaŭhier malgr ankor kontr anstat kvaz`,
);
const correlative = lastPart("(?:k|kelk|nen|t|mult|samt|ĉ)?i", "(?:e|[aou]j?)n?");
const uninflected = lastPart(
  `aha haha haleluja hola hosana maltra hura ĥaĥa ekde elde disde ehe maltre dirlididi malpli malĉi malkaj amen tamen oho
   maltro minus uhu muu`,
);
const numeral = /(?:dek|cent)(?:tri|du|unu)$/;
const determiner = lastPart("aliu unu", "j?n?");
const ending = /(?:[ao]j?n?|en?|i|[aiou]s|u|jn?|n)$/;

/** In the letters that Esperanto has; a word with others is foreign, and stays. */
function canonical(input: string): { readonly word: string; readonly isForeign: boolean } {
  let isForeign = false;
  const word = input.replace(/[cghjsu]x|[-áéíóúqwxy]/g, (letters) => {
    const own = written[letters];
    if (own === undefined) isForeign = letters !== "-";
    return own ?? accented[letters] ?? letters;
  });
  return { word, isForeign };
}

/** An apostrophe stands for the end that was left out. */
function completed(word: string): string {
  if (!word.endsWith("'")) return word;
  const rest = word.slice(0, -1);
  if (rest === "l") return "la";
  if (rest === "un") return "unu";
  return rest + (elidedAdverb.test(rest) ? "aŭ" : "o");
}

function isLong(word: string): boolean {
  return /[aeiou].*[aeiou]/.test(word) || word.lastIndexOf("-") > 0 || /[0-9]/.test(word);
}

export function stemEsperanto(input: string): string {
  const { word: plain, isForeign } = canonical(input);
  if (isForeign) return plain;
  const whole = plain.replace(elidedVerb, "e");
  if (pronoun.test(whole)) return whole.replace(/n$/, "");
  const word = completed(whole);
  if (correlative.test(word) || determiner.test(word)) return word.replace(/j?n?$/, "");
  if (uninflected.test(word) || numeral.test(word) || !isLong(word)) return word;
  const end = ending.exec(word)?.[0] ?? "";
  const stem = word.slice(0, word.length - end.length);
  if (end === "" || (/^(?:jn?|n)$/.test(end) && !/[-0-9]$/.test(stem))) return word;
  return stem.replace(/-$/, "");
}
