// Composes the articles of the demo and their vectors, and writes them to demo/. The same every time.
//
//   node scripts/demo-data.ts
import { mkdirSync, writeFileSync } from "node:fs";
import { SeededRandom } from "../src/adapter/simulated/random.ts";
import { demoQueries, places, seasons, topics } from "./demo-topics.ts";

const articlesPerTopic = 40;
const sentencesPerArticle = 4;
const dimensions = 64;
const powerRounds = 12;
const random = new SeededRandom(20260101);

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(random.next() * items.length)]!;
}

function some<T>(items: readonly T[], count: number): T[] {
  const left = [...items];
  return Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)[0]!);
}

interface Article {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly topic: string;
  readonly place: string;
  readonly year: number;
  readonly rating: number;
  readonly published: string;
}

function compose(): Article[] {
  const articles: Article[] = [];
  const titles = new Set<string>();
  for (const topic of topics) {
    for (let i = 0; i < articlesPerTopic; i++) {
      const [place, subject, season] = [pick(places), pick(topic.subjects), pick(seasons)];
      const year = 1890 + Math.floor(random.next() * 110);
      const fill = (text: string) =>
        text
          .replaceAll("{place}", () => place)
          .replaceAll("{subject}", () => subject)
          .replaceAll("{season}", () => season)
          .replaceAll("{year}", () => String(year))
          .replaceAll("{n}", () => String(2 + Math.floor(random.next() * 38)))
          .replaceAll(/\b([Aa]) (?=[aeiou])/g, "$1n ");
      let title = fill(pick(topic.titles));
      title = title[0]!.toUpperCase() + title.slice(1);
      if (titles.has(title)) title += `, ${1 + i}`;
      titles.add(title);
      const published = new Date(
        Date.UTC(
          1985 + Math.floor(random.next() * 41),
          Math.floor(random.next() * 12),
          1 + Math.floor(random.next() * 28),
        ),
      );
      articles.push({
        id: articles.length + 1,
        title,
        body: some(topic.sentences, sentencesPerArticle).map(fill).join(" "),
        topic: topic.name,
        place,
        year: published.getUTCFullYear(),
        rating: Math.round((1 + random.next() * 4) * 10) / 10,
        published: published.toISOString(),
      });
    }
  }
  return articles;
}

const stopWords = new Set(
  "a an and are as at be but by for from had has he her his if in into is it its no not nobody of on once one or so than that the their them then there they this to two was were when where which who will with you".split(
    " ",
  ),
);

function words(text: string): string[] {
  const found = text.toLowerCase().match(/[a-z]+/g) ?? [];
  return found
    .filter((word) => word.length > 2 && !stopWords.has(word))
    .map((word) => word.replace(/(?:ies|es|s|ing|ed)$/, ""));
}

function normalize(vector: Float64Array): Float64Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Rows made orthonormal, one after another. */
function orthonormal(rows: Float64Array[]): Float64Array[] {
  const done: Float64Array[] = [];
  for (const row of rows) {
    const left = Float64Array.from(row);
    for (const other of done) {
      let dot = 0;
      for (let i = 0; i < left.length; i++) dot += left[i]! * other[i]!;
      for (let i = 0; i < left.length; i++) left[i]! -= dot * other[i]!;
    }
    done.push(normalize(left));
  }
  return done;
}

/**
 * Latent semantic analysis: documents as weighted counts of words, then the directions in which they differ most, found by
 * power iteration. A text's vector is what its words have of those directions.
 */
class Meaning {
  readonly #index = new Map<string, number>();
  readonly #idf: Float64Array;
  readonly #directions: Float64Array[];

  constructor(texts: readonly string[]) {
    const documents = texts.map(words);
    const counts = new Map<string, number>();
    for (const document of documents)
      for (const word of new Set(document)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) if (count > 1) this.#index.set(word, this.#index.size);
    this.#idf = new Float64Array(this.#index.size);
    for (const [word, at] of this.#index) this.#idf[at] = Math.log(1 + texts.length / counts.get(word)!);
    const rows = documents.map((document) => this.#weights(document));
    let directions = Array.from({ length: dimensions }, () =>
      Float64Array.from({ length: this.#index.size }, () => random.next() - 0.5),
    );
    for (let round = 0; round < powerRounds; round++) {
      directions = orthonormal(directions).map((direction) => {
        const next = new Float64Array(direction.length);
        for (const row of rows) {
          let dot = 0;
          for (let i = 0; i < row.length; i++) dot += row[i]! * direction[i]!;
          for (let i = 0; i < row.length; i++) next[i]! += dot * row[i]!;
        }
        return next;
      });
    }
    this.#directions = orthonormal(directions);
  }

  #weights(document: readonly string[]): Float64Array {
    const weights = new Float64Array(this.#index.size);
    for (const word of document) {
      const at = this.#index.get(word);
      if (at !== undefined) weights[at]! += this.#idf[at]!;
    }
    return normalize(weights);
  }

  of(text: string): number[] {
    const weights = this.#weights(words(text));
    const vector = this.#directions.map((direction) =>
      direction.reduce((sum, value, i) => sum + value * weights[i]!, 0),
    );
    return [...normalize(Float64Array.from(vector))].map((value) => Math.round(value * 10_000) / 10_000);
  }
}

const articles = compose();
const texts = articles.map(({ title, body }) => `${title} ${title} ${body}`);
const meaning = new Meaning(texts);
const folder = new URL("../demo/", import.meta.url);
mkdirSync(folder, { recursive: true });
const lines = articles.map(({ id, ...source }, i) =>
  JSON.stringify({ id, source, vectors: { meaning: meaning.of(texts[i]!) } }),
);
writeFileSync(new URL("articles.jsonl", folder), `${lines.join("\n")}\n`);
const queries = demoQueries.map(({ meaning: given, ...query }) => ({
  ...query,
  ...(given === undefined ? {} : { vector: meaning.of(given) }),
}));
writeFileSync(new URL("queries.json", folder), `${JSON.stringify(queries, undefined, 1)}\n`);
const schema = {
  fields: [
    { name: "title", kind: { text: { analyzer: "english", positions: true } } },
    { name: "body", kind: { text: { analyzer: "english", positions: true } } },
    { name: "topic", kind: "keyword", fast: true },
    { name: "place", kind: "keyword", fast: true },
    { name: "year", kind: "i64" },
    { name: "rating", kind: "f64" },
    { name: "published", kind: "date" },
  ],
  vectors: [{ name: "meaning", dim: dimensions, distance: "cosine" }],
};
writeFileSync(new URL("schema.json", folder), `${JSON.stringify(schema, undefined, 2)}\n`);
