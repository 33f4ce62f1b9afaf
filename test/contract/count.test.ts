import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let base: string;
let written: string;
before(async () => {
  server = await ServerProcess.start();
  base = `${server.url}/v1/namespaces/n/collections/c`;
  await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } });
  const schema = { fields: [{ name: "t", kind: "keyword" }] };
  await ask(`${server.url}/v1/namespaces/n/collections`, { body: { name: "c", schema } });
  const ops = Array.from({ length: 10 }, (_, id) => ({ upsert: { id, source: { t: id % 2 === 0 ? "even" : "odd" } } }));
  written = JSON.stringify((await ask(`${base}/documents`, { body: { ops } })).json.token);
});
after(() => server[Symbol.asyncDispose]());

/** The lane for short requests takes the first type only. */
const types = ["application/json", "application/json; charset=utf-8"];

const cases: readonly [body: string, status: number, want: unknown][] = [
  ['{"filter":{"term":{"t":"even"}}}', 200, 5],
  ['{"filter":{"term":{"t":"even"}},"consistency":"strong"}', 200, 5],
  ["{}", 200, 10],
  ['{"filter":null}', 200, 10],
  ['{"filter":{"term":{"u":"even"}}}', 400, "filter.term.u"],
  ['{"filter":[]}', 400, "filter"],
  ['{"filters":{}}', 400, "filters"],
  ['{"consistency":"weak"}', 400, "consistency"],
  ["[]", 400, "body"],
  ["{", 400, "body"],
];

for (const [body, status, want] of cases) {
  test(`a count of ${body} is the same however it comes in`, async () => {
    for (const type of types) {
      const answer = await ask(`${base}/documents/count`, { body, headers: { "content-type": type } });
      assert.equal(answer.status, status, answer.text);
      assert.equal(status === 200 ? answer.json.count : answer.json.field, want, answer.text);
      if (status !== 200) continue;
      assert.deepEqual(answer.json.token, JSON.parse(written));
      assert.equal(answer.headers.get("service-consistency-token"), written);
    }
  });
}

test("a count with a token waits for it, and an unknown collection is told of", async () => {
  for (const type of types) {
    const headers = { "content-type": type, "service-consistency-token": written };
    assert.equal((await ask(`${base}/documents/count`, { body: "{}", headers })).json.count, 10);
    const unknown = await ask(`${base}x/documents/count`, { body: "{}", headers: { "content-type": type } });
    assert.equal(unknown.status, 404, unknown.text);
  }
});
