import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Schema } from "../src/engine/collection/schema.ts";
import { parseSchema } from "../src/engine/collection/schema-parse.ts";
import { Extractor } from "../src/engine/search/document.ts";
import type { IndexReader } from "../src/engine/search/index/reader.ts";
import { openSegment, SegmentReader } from "../src/engine/search/index/segment.ts";
import { mergeSegments } from "../src/engine/search/index/segment-writer.ts";
import { TailIndex } from "../src/engine/search/index/tail.ts";
import { parseTextQuery } from "../src/engine/search/text/query.ts";
import { searchText } from "../src/engine/search/text/search.ts";

/**
 * Relevance on a test collection in TREC format: a folder with documents (<DOC><DOCNO>…), topics
 * (<top><num>…<title>…) and qrels (topic, iteration, document, grade). Run: node bench/relevance.ts FOLDER
 */
interface TestCollection {
  readonly documents: readonly { readonly name: string; readonly text: string }[];
  readonly topics: readonly { readonly name: string; readonly text: string }[];
  /** Grade by document name, by topic name. */
  readonly grades: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

function readFolder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(folder, entry.name), "utf8"));
}

function stripTags(text: string): string {
  return text.replace(/<[^>]*>/g, " ");
}

function readDocuments(text: string): { name: string; text: string }[] {
  return [...text.matchAll(/<DOC>([\s\S]*?)<\/DOC>/gi)].map(([, body]) => ({
    name: /<DOCNO>\s*([^<\s]+)\s*/i.exec(body!)?.[1] ?? "",
    text: stripTags(body!.replace(/<DOCNO>[\s\S]*?<\/DOCNO>/i, " ")),
  }));
}

function readTopics(text: string): { name: string; text: string }[] {
  return [...text.matchAll(/<top>([\s\S]*?)<\/top>/gi)].map(([, body]) => ({
    name: /<num>\s*(?:Number:)?\s*([^<\s]+)/i.exec(body!)?.[1] ?? "",
    text: stripTags(/<title>\s*([\s\S]*?)(?=<\/title>|<desc>|<narr>|$)/i.exec(body!)?.[1] ?? "").trim(),
  }));
}

function readGrades(text: string): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const line of text.split("\n")) {
    const [topic, , document, grade] = line.trim().split(/\s+/);
    if (topic === undefined || document === undefined) continue;
    const judged = grades.get(topic) ?? new Map<string, number>();
    judged.set(document, Number(grade));
    grades.set(topic, judged);
  }
  return grades;
}

function readCollection(folder: string): TestCollection {
  const files = readFolder(folder);
  const grades = files.find((text) => /^\S+\s+\S+\s+\S+\s+-?\d+\s*$/m.test(text.slice(0, 200)) && !text.includes("<"));
  if (grades === undefined) throw new Error(`no qrels in ${folder}`);
  return { documents: files.flatMap(readDocuments), topics: files.flatMap(readTopics), grades: readGrades(grades) };
}

interface Scores {
  readonly ndcg10: number;
  readonly map: number;
  readonly recall100: number;
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, i) => sum + (2 ** gain - 1) / Math.log2(i + 2), 0);
}

/** Scores of one ranking; topics without a relevant document are left out by the caller. */
function judge(ranking: readonly string[], grades: ReadonlyMap<string, number>): Scores {
  const gradeOf = (name: string) => Math.max(0, grades.get(name) ?? 0);
  const ideal = [...grades.values()].filter((grade) => grade > 0).sort((x, y) => y - x);
  let found = 0;
  let precision = 0;
  ranking.forEach((name, i) => {
    if (gradeOf(name) === 0) return;
    found++;
    precision += found / (i + 1);
  });
  return {
    ndcg10: discounted(ranking.slice(0, 10).map(gradeOf)) / discounted(ideal.slice(0, 10)),
    map: precision / ideal.length,
    recall100: ranking.slice(0, 100).filter((name) => gradeOf(name) > 0).length / ideal.length,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function textSchema(analyzer: string): Schema {
  return parseSchema({ fields: [{ name: "body", kind: { text: { analyzer } } }] });
}

/** Processor time of this process, so that other work on the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function rate(count: number, ms: number): string {
  return `${Math.round((count / ms) * 1000).toLocaleString("en")}/s`;
}

/** Indexes the documents; returns the sealed segment and prints the speeds. */
function buildIndex(schema: Schema, collection: TestCollection): IndexReader {
  const extractor = new Extractor(schema);
  const tail = new TailIndex(schema);
  const started = cpuMs();
  collection.documents.forEach((document, id) => {
    tail.add(id, 1, extractor.extract({ body: document.text }));
  });
  const added = cpuMs();
  const bytes = mergeSegments(schema, [tail]);
  const sealed = cpuMs();
  const reader = new SegmentReader(openSegment(bytes));
  const words = reader.text("body")!.liveLength;
  console.log(
    `  ${collection.documents.length} documents, ${words} words; tail ${rate(words, added - started)}, ` +
      `sealing ${rate(words, sealed - added)}, together ${rate(words, sealed - started)}, ${bytes.length} bytes`,
  );
  return reader;
}

function measureSpeed(reader: IndexReader, schema: Schema, collection: TestCollection): void {
  const run = () => {
    for (const topic of collection.topics) searchText([reader], parseTextQuery(schema, "body", topic.text), 10);
  };
  run();
  const started = cpuMs();
  let rounds = 0;
  while (cpuMs() - started < 1000) {
    run();
    rounds++;
  }
  console.log(`  top 10: ${rate(rounds * collection.topics.length, cpuMs() - started)} on one core`);
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error("usage: node bench/relevance.ts FOLDER");
  process.exit(2);
}
const collection = readCollection(folder);
const judged = collection.topics.filter((topic) =>
  [...(collection.grades.get(topic.name)?.values() ?? [])].some((grade) => grade > 0),
);
for (const analyzer of ["standard", "english"]) {
  console.log(`text, analyzer ${analyzer}`);
  const schema = textSchema(analyzer);
  const reader = buildIndex(schema, collection);
  const scores = judged.map((topic) => {
    const hits = searchText([reader], parseTextQuery(schema, "body", topic.text), 1000);
    const ranking = hits.map((hit) => collection.documents[hit.id]!.name);
    return judge(ranking, collection.grades.get(topic.name)!);
  });
  const figures = (["ndcg10", "map", "recall100"] as const).map((key) => mean(scores.map((score) => score[key])));
  const [ndcg10, map, recall100] = figures.map((figure) => figure.toFixed(4));
  console.log(`  nDCG@10 ${ndcg10}  MAP ${map}  recall@100 ${recall100}  (${judged.length} topics)`);
  measureSpeed(reader, schema, collection);
}
