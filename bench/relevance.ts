// Relevance on a test collection in TREC format, by text, vector and hybrid queries over HTTP to a server of its own.
// Run: node bench/relevance.ts FOLDER. What a folder may hold says bench/support/trec.ts.
import { analyzerByName, termsOf } from "../src/engine/schema/analysis/analyzer.ts";
import { ask } from "../test/support/http.ts";
import { ServerProcess } from "../test/support/process.ts";
import { judge, meanScores, type Scores } from "./support/judge.ts";
import { Lsa } from "./support/lsa.ts";
import { readTestCollection, type TestCollection } from "./support/trec.ts";

const dim = 256;
const seed = 7;
/** Ranks that are judged, as is the custom. */
const depth = 1_000;
const batchDocuments = 250;
const queriesPerRequest = 16;

interface Topic {
  readonly name: string;
  readonly text: string;
  readonly vector: readonly number[];
}

type Retrievers = (topic: Topic) => object[];

const text = (field: string) => (topic: Topic) => ({ text: { field, query: topic.text, k: depth } });
const vector = (topic: Topic) => ({ vector: { field: "lsa", query: topic.vector, k: depth } });

const ways: readonly { readonly name: string; readonly retrieve: Retrievers }[] = [
  { name: "text standard", retrieve: (topic) => [text("standard")(topic)] },
  { name: "text english", retrieve: (topic) => [text("english")(topic)] },
  { name: "vector", retrieve: (topic) => [vector(topic)] },
  { name: "hybrid", retrieve: (topic) => [text("english")(topic), vector(topic)] },
];

async function post(url: string, body: object): Promise<Awaited<ReturnType<typeof ask>>> {
  const answer = await ask(url, { body });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer;
}

/** Every document under its place in the collection as its id, with the same text in both fields. */
async function load(url: string, collection: TestCollection, vectors: readonly Float32Array[]): Promise<void> {
  const textField = (name: string) => ({ name, kind: { text: { analyzer: name } }, source_path: "body" });
  const schema = {
    fields: [textField("standard"), textField("english")],
    vectors: [{ name: "lsa", dim: vectors[0]!.length, distance: "dot" }],
  };
  await post(`${url}/collections`, { name: "docs", schema });
  const { documents } = collection;
  for (let from = 0; from < documents.length; from += batchDocuments) {
    const ops = documents.slice(from, from + batchDocuments).map(({ text }, i) => ({
      upsert: { id: from + i, source: { body: text }, vectors: { lsa: Array.from(vectors[from + i]!) } },
    }));
    for (;;) {
      const { status, text } = await ask(`${url}/collections/docs/documents`, { body: { ops } });
      if (status === 200) break;
      if (status !== 429) throw new Error(text);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function rank(
  url: string,
  collection: TestCollection,
  topics: readonly Topic[],
  retrieve: Retrievers,
): Promise<Scores[]> {
  const scores: Scores[] = [];
  for (let from = 0; from < topics.length; from += queriesPerRequest) {
    const asked = topics.slice(from, from + queriesPerRequest);
    const queries = asked.map((topic) => {
      const several = retrieve(topic).length > 1 ? { fuse: { method: "rrf" } } : {};
      return { from: "docs", retrieve: retrieve(topic), ...several, limit: depth, select: [] };
    });
    const { json } = await post(`${url}/query`, { queries });
    for (const [i, { rows }] of (json.results as { rows: { _id: number }[] }[]).entries()) {
      const ranking = rows.map(({ _id }) => collection.documents[_id]!.name);
      scores.push(judge(ranking, collection.grades.get(asked[i]!.name)!));
    }
  }
  return scores;
}

async function main(folder: string): Promise<void> {
  const collection = readTestCollection(folder);
  const { documents, grades } = collection;
  const judged = collection.topics.filter(({ name }) =>
    [...(grades.get(name)?.values() ?? [])].some((each) => each > 0),
  );
  if (judged.length === 0) throw new Error("no topic has a relevant document");
  console.log(`${documents.length} documents, ${judged.length} topics with relevant documents`);
  const analyzer = analyzerByName("english");
  const words = documents.map((each) => termsOf(analyzer, each.text));
  const lsa = new Lsa(words, { dim, seed, learnMax: 20_000 });
  const topics = judged.map((topic) => {
    return { ...topic, vector: Array.from(lsa.query(termsOf(analyzer, topic.text))) };
  });
  await using server = await ServerProcess.start();
  const url = `${server.url}/v1/namespaces/relevance`;
  await post(`${server.url}/v1/namespaces`, { name: "relevance" });
  await load(
    url,
    collection,
    words.map((each) => lsa.document(each)),
  );
  console.log("| | nDCG@10 | MAP | recall@100 |\n|---|---|---|---|");
  for (const { name, retrieve } of ways) {
    const { ndcg10, map, recall100 } = meanScores(await rank(url, collection, topics, retrieve));
    console.log(`| ${name} | ${ndcg10.toFixed(4)} | ${map.toFixed(4)} | ${recall100.toFixed(4)} |`);
  }
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error("usage: node bench/relevance.ts FOLDER");
  process.exit(2);
}
await main(folder);
