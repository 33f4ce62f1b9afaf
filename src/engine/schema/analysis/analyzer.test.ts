import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { analyzerByName, analyzerNames, isAnalyzer, termsOf } from "./analyzer.ts";
import { CachedStemmer, stemOf } from "./stem.ts";
import { TokenBuffer } from "./tokens.ts";

const cases: [string, string, string[]][] = [
  ["standard", "", []],
  ["standard", " .,;!? ", []],
  ["standard", "The QUICK brown-fox", ["the", "quick", "brown", "fox"]],
  ["standard", "don't U.S.A. 3.14 1,000 10:30 a.b,c", ["don't", "u.s.a", "3.14", "1,000", "10", "30", "a.b", "c"]],
  ["standard", "foo_bar __ _x 'quoted' x-1 a1b2", ["foo_bar", "_x", "quoted", "x", "1", "a1b2"]],
  ["standard", "naïve Café ÉTÉ", ["naïve", "café", "été"]],
  ["standard", "ne\u0301e", ["née"]],
  ["standard", "日本語テスト ひら", ["日", "本", "語", "テスト", "ひ", "ら"]],
  ["standard", "Привет, мир", ["привет", "мир"]],
  ["standard", "l’été 3,5 x", ["l’été", "3,5", "x"]],
  ["standard", "a😀b \u{1d41a}z", ["a", "b", "\u{1d41a}z"]],
  ["standard", "x".repeat(300), ["x".repeat(255)]],
  ["simple", "Don't 3x naïve", ["don", "t", "x", "naïve"]],
  ["whitespace", " Don't  3.x\tÉ ", ["Don't", "3.x", "É"]],
  ["keyword", "New York ", ["New York "]],
  ["keyword", "", []],
  ["english", "The running dogs weren't measuring liquids", ["run", "dog", "measur", "liquid"]],
  ["english", "Don’t", []],
  ["german", "Die Häuser und die Katzen", ["haus", "katz"]],
  ["french", "les chevaux mangeaient", ["cheval", "mang"]],
  ["russian", "и книги", ["книг"]],
  ["turkish", "kitaplar IŞIK Ankara'da", ["kitap", "ışık", "ankar"]],
  ["turkish_1", "IŞIK", ["işik"]],
  ["dutch", "gelopen huizen", ["loop", "huis"]],
  ["dutch_1", "gelopen huizen", ["gelop", "huiz"]],
  ["french", "l’école", ["écol"]],
  ["greek", "οι δρόμοι", ["οι", "δρομ"]],
  ["persian", "می\u200cروم کتاب\u200cها", ["روم", "کتاب"]],
  ["yiddish", "געשריבן ייִדיש", ["שרײב", "ייד"]],
  ["polish", "książkami czytałam", ["książk", "czyt"]],
  ["standard+folding", "Crème BRÛLÉE, Straße ﬁn Ａ１ όμηρος", ["creme", "brulee", "strasse", "fin", "a1", "ομηροσ"]],
  ["standard+folding", "ёлка йод क़लम", ["елка", "йод", "क़लम"]],
  ["keyword+folding", "Éa".repeat(200), ["Ea".repeat(200)]],
  ["french+folding", "même mangées mangees", ["mange", "mange"]],
  ["cjk", "東京都 A", ["東京", "東", "京都", "京", "都", "a"]],
  ["cjk", "日 テスト한국 x𠀀", ["日", "テス", "テ", "スト", "ス", "ト한", "ト", "한국", "한", "국", "x", "𠀀"]],
];
for (const [name, text, want] of cases) {
  test(`${name}: ${text.slice(0, 40)}`, () => assert.deepEqual(termsOf(analyzerByName(name), text), want));
}

test("tokens carry their place in the text, and removed words leave a gap", () => {
  const tokens = new TokenBuffer();
  const after = analyzerByName("english").analyze("Dogs of the Sea", 10, tokens);
  assert.deepEqual(tokens.positions.slice(0, tokens.count), [10, 13]);
  assert.deepEqual(tokens.starts.slice(0, tokens.count), [0, 12]);
  assert.deepEqual(tokens.ends.slice(0, tokens.count), [4, 15]);
  assert.equal(after, 14);
});

test("the same text has the same words with and without other letters near it", () => {
  const ascii = "it's 3.5 U.S. foo_bar a:b x,y 1,2";
  const words = termsOf(analyzerByName("standard"), ascii);
  assert.deepEqual(termsOf(analyzerByName("standard"), `${ascii} é`), [...words, "é"]);
});

test("a lone surrogate never reaches the index", () => {
  for (const name of ["standard", "simple", "whitespace", "keyword"]) {
    for (const term of termsOf(analyzerByName(name), "a\ud800b \udc00")) assert.ok(term.isWellFormed(), name);
  }
});

test("every name makes an analyzer, and no other does", () => {
  for (const name of analyzerNames()) {
    assert.ok(isAnalyzer(name));
    assert.equal(analyzerByName(name).name, name);
  }
  assert.ok(analyzerNames().length > 15);
  assert.ok(!isAnalyzer("toString"));
  assert.throws(() => analyzerByName("klingon"), { reason: "invalid_argument" });
});

/** Words of Snowball's vocabularies with the stems that Snowball 3.1.1 gives them: see test/fixtures/README.md. */
const samples: Record<string, string> = JSON.parse(
  readFileSync(new URL("../../../../test/fixtures/stems.json", import.meta.url), "utf8"),
);
for (const [language, text] of Object.entries(samples)) {
  test(`${language} stems as Snowball does`, () => {
    const stem = stemOf(language);
    const words = text.split(" ");
    const given = words.filter((_, i) => i % 2 === 0);
    const differing = given.filter((word, i) => stem(word) !== words[2 * i + 1]);
    assert.deepEqual(differing, []);
  });
}

test("a query asks for pairs of characters, and for one alone", () => {
  const { analyzeQuery } = analyzerByName("cjk");
  const termsAt = (text: string) => {
    const out = new TokenBuffer();
    analyzeQuery!(text, 0, out);
    return out.terms.slice(0, out.count).map((term, i) => `${term}${out.positions[i]}`);
  };
  assert.deepEqual(termsAt("東京都 a"), ["東京0", "京都2", "a6"]);
  assert.deepEqual(termsAt("都"), ["都1"]);
});

test("a full cache gives the same stems", () => {
  const stemmer = new CachedStemmer(stemOf("english"));
  for (let i = 0; i < 120_000; i++) stemmer.stem(`w${i}`);
  for (let round = 0; round < 2; round++) assert.equal(stemmer.stem("running"), "run");
});
