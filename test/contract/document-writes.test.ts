import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start();
  const schema = { fields: [{ name: "t", kind: "keyword" }], vectors: [{ name: "v", dim: 2 }] };
  for (const name of ["lane", "plain"]) {
    await ask(`${server.url}/v1/namespaces`, { body: { name } });
    const made = await ask(`${server.url}/v1/namespaces/${name}/collections`, { body: { name: "c", schema } });
    assert.equal(made.status, 200, made.text);
  }
});
after(() => server[Symbol.asyncDispose]());

/** The lane for short requests takes the first type only. */
const ways = [
  ["lane", "application/json"],
  ["plain", "application/json; charset=utf-8"],
] as const;

const bodies: readonly [what: string, body: string, status: number][] = [
  ["an upsert", '{"ops":[{"upsert":{"id":1,"source":{"t":"a"},"vectors":{"v":[1,2]}}}]}', 200],
  ["an upsert of the same", '{"ops":[{"upsert":{"id":1,"source":{"t":"b"}}}]}', 200],
  ["several", '{"ops":[{"insert":{"id":2,"source":{}}},{"patch":{"id":1,"source":{"n":1}}},{"delete":{"id":7}}]}', 200],
  ["an insert of what is there", '{"ops":[{"insert":{"id":2,"source":{}}}]}', 409],
  ["a patch of what is not there", '{"ops":[{"patch":{"id":3,"source":{}}}]}', 404],
  ["a condition that fails", '{"ops":[{"delete":{"id":1,"if_version":9}}]}', 200],
  ["a number beyond doubles", '{"ops":[{"upsert":{"id":4,"source":{"n":12345678901234567890}}}]}', 200],
  ["text beyond ASCII", '{"ops":[{"upsert":{"id":5,"source":{"t":"Zürich 東京"}}}]}', 200],
  ["a byte order mark", '\ufeff{"ops":[{"upsert":{"id":6,"source":{}}}]}', 200],
  ["a key", '{"ops":[{"upsert":{"id":8,"source":{}}}],"idempotency_key":"k"}', 200],
  ["the same key again", '{"ops":[{"upsert":{"id":8,"source":{}}}],"idempotency_key":"k"}', 200],
  ["the key with something else", '{"ops":[{"upsert":{"id":9,"source":{}}}],"idempotency_key":"k"}', 409],
  ["an empty key", '{"ops":[{"delete":{"id":9}}],"idempotency_key":""}', 400],
  ["no operation", '{"ops":[]}', 400],
  ["no operations", "{}", 400],
  ["an unknown member", '{"ops":[{"upsert":{"id":1,"source":{}}}],"x":1}', 400],
  ["an unknown kind", '{"ops":[{"replace":{"id":1}}]}', 400],
  ["two kinds in one", '{"ops":[{"delete":{"id":1},"upsert":{"id":1,"source":{}}}]}', 400],
  ["no id", '{"ops":[{"delete":{}}]}', 400],
  ["an id that is none", '{"ops":[{"delete":{"id":1.5}}]}', 400],
  ["a source that is none", '{"ops":[{"upsert":{"id":1,"source":[]}}]}', 400],
  ["a field of another type", '{"ops":[{"upsert":{"id":1,"source":{"t":{"a":1}}}}]}', 400],
  ["a vector of another length", '{"ops":[{"upsert":{"id":1,"source":{},"vectors":{"v":[1]}}}]}', 400],
  ["a filter of an unknown field", '{"ops":[{"delete":{"id":1,"if":{"term":{"zz":1}}}}]}', 400],
  ["no JSON", '{"ops":[', 400],
  ["a list", "[]", 400],
];

for (const [what, body, status] of bodies) {
  test(`a write with ${what} is answered the same however it comes in`, async () => {
    const [lane, plain] = await Promise.all(
      ways.map(async ([namespace, type]) => {
        const url = `${server.url}/v1/namespaces/${namespace}/collections/c/documents`;
        const answer = await ask(url, { body, headers: { "content-type": type } });
        assert.equal(answer.status, status, answer.text);
        const headers = ["service-consistency-token", "idempotency-replayed", "content-type", "retry-after"];
        return [answer.text, ...headers.map((name) => answer.headers.get(name))].map(withoutStream);
      }),
    );
    assert.deepEqual(lane, plain);
  });
}

test("both ways left the same documents", async () => {
  const [lane, plain] = await Promise.all(
    ways.map(async ([namespace]) => {
      const url = `${server.url}/v1/namespaces/${namespace}/collections/c/documents/scroll`;
      return (await ask(url, { body: {} })).json.documents;
    }),
  );
  assert.equal(lane.length, 6);
  assert.deepEqual(lane, plain);
});

/** The collections' logs are two streams. */
function withoutStream(text: string | null): string | null {
  return text?.replace(/"stream":\d+/g, '"stream":0') ?? null;
}
