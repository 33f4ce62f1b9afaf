import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "../contract/query-answers.ts";
import { collectionsServer, numbers } from "../support/collections.ts";
import { ask } from "../support/http.ts";

const served = collectionsServer("2s");

test("recall of a segment that is searched by its graph, and of filters on it", async () => {
  const client = await served.client();
  await client.made("large", { fields: [{ name: "n", kind: "i64" }], vectors: [{ name: "v", dim: 8 }] });
  // Spread without pattern, and the same in every run.
  const spread = (id: number, i: number) => (Math.sin(id * 12.9898 + i * 78.233) * 43_758.5453) % 1;
  const ops = numbers(0, 2_500).map((id) => ({
    upsert: { id, source: { n: id % 100 }, vectors: { v: numbers(0, 8).map((i) => spread(id, i)) } },
  }));
  await client.written("large", ops);
  await client.sealed("large");
  const first = { vector: { field: "v", query: [0.3, -0.2, 0.9, 0.1, 0, 0.5, -0.7, 0.2], k: 10 } };
  const { stats, rows } = await client.answered({ from: "large", retrieve: [first], explain: true });
  assert.deepEqual(
    stats.parts.map(({ kind, graph }: { kind: string; graph: boolean }) => [kind, graph]),
    [["segment", true]],
  );
  const { ef, recall } = stats.parts[0].graphs.v;
  assert.ok(ef >= 48 && recall >= 0.97 && recall <= 1, JSON.stringify(stats.parts));
  const exact = await client.answered({ from: "large", retrieve: [{ vector: { ...first.vector, exact: true } }] });
  const exactIds = new Set(exact.rows.map(({ _id }: Row) => _id));
  assert.ok(rows.filter(({ _id }: Row) => exactIds.has(_id)).length >= 9);
  for (const filter of [undefined, { range: { n: { lt: 50 } } }, { range: { n: { lt: 5 } } }, { term: { n: 1 } }]) {
    const answer = await ask(`${client.of("large")}/recall`, { body: { field: "v", num: 50, k: 10, filter } });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.json.recall >= 0.95 && answer.json.recall <= 1, answer.text);
    const some = await client.answered({
      from: "large",
      retrieve: [first],
      ...(filter === undefined ? {} : { filter }),
    });
    assert.equal(some.rows.length, 10);
  }
});
