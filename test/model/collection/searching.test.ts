import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOps } from "../../../src/edge/rest/documents/json.ts";
import { parseQuery } from "../../../src/engine/retrieval/parse.ts";
import type { QueryResult } from "../../../src/engine/retrieval/result.ts";
import { parseSchema } from "../../../src/engine/schema/schema-parse.ts";
import { generator } from "../../support/vectors.ts";
import { type Adapters, EngineHarness } from "./harness.ts";

const words = ["red", "green", "blue", "round", "square", "small"];
const schema = parseSchema({
  fields: [
    { name: "text", kind: "text" },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim: 3, distance: "l2" }],
});

interface Document {
  readonly text: string;
  readonly n: number;
  readonly v: readonly number[];
}

/** A collection that several threads search, beside what was written to it. */
class Searched {
  readonly harness: EngineHarness;
  readonly documents = new Map<number, Document>();
  readonly #random: () => number;

  constructor(harness: EngineHarness, seed: number) {
    this.harness = harness;
    this.#random = generator(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  async write(): Promise<void> {
    const ops: object[] = [];
    const ids = new Set(Array.from({ length: 1 + this.below(12) }, () => this.below(60)));
    for (const id of ids) {
      if (this.below(4) === 0) {
        this.documents.delete(id);
        ops.push({ delete: { id } });
        continue;
      }
      const text = Array.from({ length: 1 + this.below(5) }, () => words[this.below(words.length)]!).join(" ");
      const document = { text, n: this.below(10), v: [this.below(9), this.below(9), this.below(9)] };
      this.documents.set(id, document);
      ops.push({ upsert: { id, source: { text, n: document.n }, vectors: { v: document.v } } });
    }
    const ref = { namespace: "n", collection: "c" };
    await this.harness.engine.documents.write(ref, await parseOps(ops, schema), 100);
  }

  ask(body: object): Promise<QueryResult> {
    const { queries } = this.harness.engine;
    return queries.run(
      "n",
      parseQuery({ from: "c", limit: 100, ...body }, () => schema),
      [],
    );
  }

  /** The same questions many times at once, so that every thread is asked, each answer compared with the model. */
  async check(): Promise<void> {
    const word = words[this.below(words.length)]!;
    const near = [this.below(9), this.below(9), this.below(9)];
    const bound = this.below(10);
    const all = [...this.documents].sort(([a], [b]) => a - b);
    const filtered = all.filter(([, { n }]) => n >= bound).map(([id, { n }]) => ({ _id: id, _score: 0, n }));
    const holding = all.filter(([, { text }]) => text.split(" ").includes(word)).map(([id]) => id);
    const distance = ({ v }: Document) => v.reduce((sum, value, i) => sum + (value - near[i]!) ** 2, 0);
    const nearest = all
      .map(([id, document]) => ({ _id: id, _score: 1 / (1 + distance(document)) }))
      .sort((a, b) => b._score - a._score || a._id - b._id)
      .slice(0, 5);
    const vector = { vector: { field: "v", query: near, k: 5 } };
    await Promise.all(
      Array.from({ length: 9 }, async () => {
        const [byFilter, byText, byVector] = await Promise.all([
          this.ask({ filter: { range: { n: { gte: bound } } }, select: ["n"] }),
          this.ask({ retrieve: [{ text: { field: "text", query: word, k: 100 } }], select: [] }),
          this.ask({ retrieve: [vector], select: [], consistency: "strong" }),
        ]);
        assert.deepEqual(byFilter.rows, filtered);
        assert.deepEqual(
          byText.rows?.map(({ _id }) => _id).sort((a, b) => a - b),
          holding,
        );
        assert.deepEqual(byVector.rows, nearest);
        // Of some moment before now: nothing that was never written.
        const { rows } = await this.ask({ consistency: "eventual", select: [] });
        assert.ok(rows!.every(({ _id }) => _id < 60));
      }),
    );
  }
}

async function run(adapters: Adapters, seed: number, rounds: number, loses: boolean): Promise<EngineHarness> {
  const settings = { searchThreads: 3, sealRecords: 20, sealIdleMs: 500, sealAgeMs: 2_000 };
  const harness = await EngineHarness.start(adapters, settings);
  await using stack = new AsyncDisposableStack();
  stack.use(harness);
  await harness.engine.collections.create("n", "c", schema);
  const searched = new Searched(harness, seed);
  for (let round = 0; round < rounds; round++) {
    await searched.write();
    await searched.check();
    const chance = searched.below(8);
    if (chance === 0) await harness.sealed("c");
    if (chance === 1) harness.clock.advance(600);
    if (chance === 2 && loses) harness.lose("index", searched.below(3));
    if (chance === 3) await Promise.all([searched.check(), harness.sealed("c")]);
  }
  assert.deepEqual(harness.errors, []);
  return harness;
}

for (const seed of [1, 2, 3, 4]) {
  test(`every thread that searches sees every write (seed ${seed})`, async () => {
    const { searches } = await run("memory", seed, 40, seed % 2 === 0);
    assert.ok(searches.filter((count) => count > 0).length >= 3, `all three threads searched: ${searches}`);
  });
}

test("every thread that searches sees every write, in threads of their own", async () => {
  await run("disk", 5, 12, false);
});
