import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let base: string;
before(async () => {
  server = await ServerProcess.start();
  base = `${server.url}/v1/namespaces/n/collections`;
  await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } });
});
after(() => server[Symbol.asyncDispose]());

/** A large batch is worked out before its turn, on documents that others may change until then. */
test("large and small writes of the same documents are decided one after another", async () => {
  for (let round = 0; round < 3; round++) {
    await ask(base, { body: { name: `c${round}`, schema: { fields: [{ name: "t", kind: "keyword" }] } } });
    const url = `${base}/c${round}/documents`;
    const upsert = (id: number) => ({ upsert: { id, source: { t: "x" } } });
    const batches = [2_000, ...Array<number>(20).fill(1), 500].map((size, b) =>
      Array.from({ length: size }, (_, i) => upsert(size === 1 ? b : i)),
    );
    const answers = await Promise.all(batches.map((ops) => ask(url, { body: { ops } })));
    const versions = new Map<number, number[]>();
    for (const { status, text, json } of answers) {
      assert.equal(status, 200, text);
      for (const result of json.results) {
        assert.equal(result.status, result.version === 1 ? "created" : "updated");
        versions.set(result.id, [...(versions.get(result.id) ?? []), result.version]);
      }
    }
    for (const [id, given] of versions) {
      assert.deepEqual(
        given.sort(),
        Array.from({ length: given.length }, (_, i) => i + 1),
        `versions of ${id}`,
      );
    }
    assert.equal((await ask(`${url}/count`, { body: { filter: { term: { t: "x" } } } })).json.count, 2_000);
  }
});

/** Small writes that come together are one batch of the collection's log, and the index hears of them once. */
test("of small writes at once each has its place, and one that fails leaves nothing behind", async () => {
  const schema = { fields: [{ name: "t", kind: "keyword" }], dynamic: "dynamic" };
  await ask(base, { body: { name: "many", schema } });
  const url = `${base}/many/documents`;
  await ask(url, { body: { ops: [{ upsert: { id: 0, source: { t: "first" } } }] } });
  // Counted in the index, which then hears of every change.
  const counted = (t: string) => ask(`${url}/count`, { body: { filter: { term: { t } } } });
  assert.equal((await counted("first")).json.count, 1);
  const ids = Array.from({ length: 200 }, (_, i) => i + 1);
  const answers = await Promise.all(
    ids.map((id) => {
      // Every fourth fails, every tenth adds a field.
      if (id % 4 === 0) return ask(url, { body: { ops: [upsertOf(id, "lost"), { insert: { id: 0, source: {} } }] } });
      return ask(url, { body: { ops: [upsertOf(id, "kept", id % 10 === 1 ? { [`extra${id}`]: id } : {})] } });
    }),
  );
  const offsets = new Set<number>();
  for (const [i, { status, text, json }] of answers.entries()) {
    assert.equal(status, (i + 1) % 4 === 0 ? 409 : 200, text);
    if (status === 200) offsets.add(json.token[0].offset);
  }
  assert.equal(offsets.size, 150, "each write has an offset of its own");
  assert.deepEqual([Math.min(...offsets), Math.max(...offsets)], [1, 150]);
  assert.equal((await counted("kept")).json.count, 150);
  assert.equal((await counted("lost")).json.count, 0);
  assert.equal((await ask(`${url}/count`, { body: {} })).json.count, 151);
  assert.equal((await ask(`${url}/count`, { body: { filter: { term: { extra21: 21 } } } })).json.count, 1);
});

function upsertOf(id: number, t: string, more: object = {}) {
  return { upsert: { id, source: { t, ...more } } };
}
