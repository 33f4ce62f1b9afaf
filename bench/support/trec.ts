import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A test collection: documents, topics, and what people judged relevant. */
export interface TestCollection {
  readonly documents: readonly Entry[];
  readonly topics: readonly Entry[];
  /** Grade by document name, by topic name. */
  readonly grades: Grades;
}

export interface Entry {
  readonly name: string;
  readonly text: string;
}

type Grades = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface File {
  readonly path: string;
  readonly text: string;
}

/**
 * Reads a folder in TREC format, whatever its files are called and in whatever folders below they lie: documents
 * (`<DOC><DOCNO>`), topics (`<top><num>…<title>`, or `<topic number="…"><query>`) and qrels (topic, iteration, document,
 * grade). Also with one JSON object a line (`_id`, `title`, `text`) and qrels of three columns below a line of names.
 */
export function readTestCollection(folder: string): TestCollection {
  const files = readFiles(folder);
  const judged = files.filter(({ text }) => isQrels(text));
  if (judged.length === 0) throw new Error(`no qrels in ${folder}`);
  // Where there are several, those of the test set are what figures are compared on.
  const test = judged.filter(({ path }) => /test/i.test(basename(path)));
  const grades = readGrades(test.length > 0 ? test : judged);
  const others = files.filter((file) => !judged.includes(file));
  const documents: Entry[] = [];
  const topics: Entry[] = [];
  for (const file of others) {
    documents.push(...readDocuments(file.text));
    topics.push(...readTopics(file.text));
    const lines = readJsonLines(file.text);
    // Nothing but the name tells which lines are questions.
    if (/quer|topic/i.test(basename(file.path))) topics.push(...lines);
    else documents.push(...lines);
  }
  if (documents.length === 0) throw new Error(`no documents in ${folder}`);
  if (topics.length === 0) throw new Error(`no topics in ${folder}`);
  return { documents: unique(documents), topics: namedAs(unique(topics), grades), grades };
}

function readFiles(folder: string): File[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => {
      const bytes = readFileSync(path);
      return { path, text: (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8") };
    });
}

const fourColumns = /^\S+\s+\S+\s+\S+\s+-?\d+$/;
const threeColumns = /^\S+\t\S+\t-?\d+$/;

function isQrels(text: string): boolean {
  // The first line may name the columns, the last of a piece may be cut.
  const sample = text
    .slice(0, 4096)
    .split(/\r?\n/)
    .slice(1, 4)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return sample.length > 0 && sample.every((line) => fourColumns.test(line) || threeColumns.test(line));
}

function readGrades(files: readonly File[]): Grades {
  const grades = new Map<string, Map<string, number>>();
  for (const line of files.flatMap(({ text }) => text.split(/\r?\n/))) {
    const columns = line.trim().split(/\s+/);
    const grade = Number(columns.at(-1));
    const [topic, document] = [columns[0], columns.at(-2)];
    if (columns.length < 3 || topic === undefined || document === undefined || !Number.isFinite(grade)) continue;
    const judged = grades.get(topic) ?? new Map<string, number>();
    judged.set(document, grade);
    grades.set(topic, judged);
  }
  return grades;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function plainText(markup: string): string {
  return markup
    .replace(/<!--[\s\S]*?-->|<[^>]*>/g, " ")
    .replace(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, " ")
    .trim();
}

function readDocuments(text: string): Entry[] {
  return [...text.matchAll(/<DOC(?:\s[^>]*)?>([\s\S]*?)<\/DOC>/gi)].flatMap(([, body]) => {
    const name = /<(?:DOCNO|DOCID)>\s*([^<]*?)\s*<\/(?:DOCNO|DOCID)>/i.exec(body!)?.[1];
    return name === undefined ? [] : [{ name, text: plainText(body!.replace(/<(DOCNO|DOCID)>[\s\S]*?<\/\1>/gi, " ")) }];
  });
}

/** What follows a tag up to the next one: in topics they are often not closed. */
function tagged(body: string, tag: string): string | undefined {
  const found = new RegExp(`<${tag}>\\s*([^<]*)`, "i").exec(body)?.[1]?.trim();
  return found === "" ? undefined : found;
}

function readTopics(text: string): Entry[] {
  return [...text.matchAll(/<top(?:ic)?((?:\s[^>]*)?)>([\s\S]*?)<\/top(?:ic)?>/gi)].flatMap(([, attributes, body]) => {
    const number = /(?:number|id)\s*=\s*"([^"]*)"/i.exec(attributes!)?.[1] ?? tagged(body!, "num");
    const name = number?.replace(/^Number:\s*/i, "").trim();
    const asked = ["title", "query", "desc"].map((tag) => tagged(body!, tag)).find((each) => each !== undefined);
    return name === undefined || asked === undefined
      ? []
      : [{ name, text: plainText(asked.replace(/^Topic:\s*/i, "")) }];
  });
}

function readJsonLines(text: string): Entry[] {
  if (!text.startsWith("{")) return [];
  return text.split("\n").flatMap((line) => {
    if (line.trim() === "") return [];
    const { _id, id, docid, title, text, contents } = JSON.parse(line) as Record<string, unknown>;
    const name = _id ?? id ?? docid;
    const words = [title, text, contents].filter((each) => typeof each === "string").join(" ");
    return name === undefined ? [] : [{ name: String(name), text: words.trim() }];
  });
}

function unique(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [entry.name, entry])).values()];
}

/** Topics under the names that the judgements use: as they are, without leading zeros, or else by their order. */
function namedAs(topics: readonly Entry[], grades: Grades): Entry[] {
  const ways: readonly ((topic: Entry, at: number) => string)[] = [
    ({ name }) => name,
    ({ name }) => name.replace(/^0+(?=\d)/, ""),
    (_, at) => String(at + 1),
  ];
  const fits = ways.map((way) => topics.filter((topic, at) => grades.has(way(topic, at))).length);
  const best = ways[fits.indexOf(Math.max(...fits))]!;
  return topics.map((topic, at) => ({ name: best(topic, at), text: topic.text }));
}
