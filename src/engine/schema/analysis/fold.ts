/** Letters that carry no mark that could be taken off, and are written with others where the keyboard lacks them. */
const letters: Readonly<Record<string, string>> = {
  ...{ ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", đ: "d", Đ: "D", ð: "d", Ð: "D" },
  ...{
    ħ: "h",
    Ħ: "H",
    ı: "i",
    ł: "l",
    Ł: "L",
    ŋ: "n",
    Ŋ: "N",
    ŧ: "t",
    Ŧ: "T",
    þ: "th",
    Þ: "TH",
    ς: "σ",
    ё: "е",
    Ё: "Е",
  },
};

const single = new RegExp(`[${Object.keys(letters).join("")}]`, "g");
/** Only of scripts in which a letter with a mark is a form of the letter: й and क़ are letters of their own. */
const marked = /([\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu;

/** A term without accents, and with letters of full width, ligatures and the like as the plain ones. */
export function fold(term: string): string {
  if (/^[\x00-\x7f]*$/.test(term)) return term;
  return term
    .replace(single, (letter) => letters[letter]!)
    .normalize("NFKD")
    .replace(marked, "$1")
    .normalize("NFC");
}
