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
