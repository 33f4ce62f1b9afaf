import assert from "node:assert/strict";
import { test } from "node:test";
import { collectionsServer, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { assertError } from "../support/streams.ts";

const { server, collection } = collectionsServer("200ms");

const tagged = {
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
};

test("a number beyond the range of doubles is refused for a field of numbers", async () => {
  const c = await collection(tagged);
  const source = '{"n": 1e400}';
  for (const op of ["upsert", "insert"]) {
    const answer = await ask(`${c.of("docs")}/documents`, {
      body: `{"ops": [{"${op}": {"id": 1, "source": ${source}}}]}`,
    });
    assertError(answer, 400, "invalid_argument", `ops[0].${op}.source.n`);
  }
  await c.written(
    "docs",
    upserts([1], () => ({ tag: "a" })),
  );
  const patch = await ask(`${c.of("docs")}/documents`, {
    body: `{"ops": [{"patch": {"id": 1, "source": ${source}}}]}`,
  });
  assertError(patch, 400, "invalid_argument", "ops[0].patch.source.n");
  const body = `{"filter": {"match_all": {}}, "patch": {"source": ${source}}}`;
  const many = await ask(`${c.of("docs")}/documents/patch_by_filter`, { body });
  assertError(many, 400, "invalid_argument", "patch.source.n");
});

for (const source of ['{"other":-1e400}', '{"j":{"a":[1,{"b":1e999}]}}']) {
  test(`a number beyond the range of doubles is kept as it was written elsewhere: ${source}`, async () => {
    const c = await collection({ fields: [...tagged.fields, { name: "j", kind: "json" }] });
    const written = await ask(`${c.of("docs")}/documents`, {
      body: `{"ops": [{"upsert": {"id": 1, "source": ${source}}}]}`,
    });
    assert.equal(written.status, 200, written.text);
    const { text } = await ask(`${c.of("docs")}/documents/1`);
    assert.ok(text.includes(source), text);
  });
}

test("a vector's numbers are shown as they were written, by every reader", async () => {
  const c = await collection({ vectors: [{ name: "v", dim: 3 }], sparse_vectors: [{ name: "s" }] });
  const v = [0.1, -0.2, 1e-7];
  const s = { indices: [3, 4], values: [0.3, 123.456] };
  await c.written("docs", [{ upsert: { id: 1, source: {}, vectors: { v }, sparse_vectors: { s } } }]);
  const rpc = async (method: string, body: object) => {
    const answer = await ask(`${server().url}/service.collection.v1.${method}`, { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const where = { namespace: c.namespace, collection: "docs" };
  const one = (await c.get("docs", 1)).json;
  const [many] = (await c.post("docs", "get", { ids: [1] })).json.documents;
  const [page] = (await c.post("docs", "scroll")).json.documents;
  const [row] = (await ask(`${c.url}/query`, { body: { from: "docs", include_vectors: true } })).json.rows;
  const [sql] = (await ask(`${c.url}/sql`, { body: { query: "SELECT v, s FROM docs" } })).json.rows;
  const [document] = (await rpc("DocumentService/GetDocuments", { ...where, ids: [1] })).documents;
  const { namespace } = where;
  const [hit] = (await rpc("QueryService/Search", { namespace, from: "docs", includeVectors: true })).rows;
  for (const [reader, dense, sparse] of [
    ["GET", one.vectors.v, one.sparse_vectors.s],
    ["get", many.vectors.v, many.sparse_vectors.s],
    ["scroll", page.vectors.v, page.sparse_vectors.s],
    ["query", row.v, row.s],
    ["sql", sql.v, sql.s],
    ["GetDocuments", document.vectors.v.values, document.sparseVectors.s],
    ["Search", hit.vectors.v.values, hit.sparseVectors.s],
  ] as const) {
    assert.deepEqual([dense, sparse], [v, s], reader);
  }
});

test("numbers that a double can't carry are kept as they were written", async () => {
  const c = await collection({
    fields: [
      { name: "raw", kind: "json" },
      { name: "f", kind: "f64" },
      { name: "n", kind: "i64" },
    ],
  });
  const raw = '{"a":[12345678901234567890,0.10000000000000000555],"b":1e400}';
  const source = `{"id":"x","raw":${raw},"f":0.1234567890123456789,"other":-9007199254740993}`;
  const send = (path: string, text: string) =>
    fetch(`${c.of("docs")}/documents${path}`, {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json" },
    });
  const filler = ` `.repeat(200_000);
  for (const [id, space] of [
    ["1", ""],
    ["2", filler],
  ] as const) {
    const done = await send("", `{"ops":[${space}{"upsert":{"id":${id},"source":${source}}}]}`);
    assert.equal(done.status, 200, await done.text());
    const text = async () => (await fetch(`${c.of("docs")}/documents/${id}`)).text();
    assert.ok((await text()).includes(`"source":${source}`), await text());
    await send("", `{"ops":[{"patch":{"id":${id},"source":{"more":98765432109876543210}}}]}`);
    assert.ok((await text()).includes(`"source":${source.slice(0, -1)},"more":98765432109876543210}`), await text());
  }
  await send("/patch_by_filter", '{"filter":{"ids":{"values":[2]}},"patch":{"source":{"more":1e-999}}}');
  assert.match(await (await send("/get", '{"ids":[2]}')).text(), /"more":1e-999/);
  const found = await ask(`${c.url}/query`, {
    body: { from: "collections.docs", filter: { range: { f: { gt: 0.1 } } } },
  });
  assert.ok(found.text.includes(`"raw":${raw}`), found.text);
  const selected = await ask(`${c.url}/sql`, {
    body: { query: "select raw, _source from docs where f > 0.12 order by _id limit 1" },
  });
  assert.ok(selected.text.includes(`"raw":${raw},"_source":${source.slice(0, -1)}`), selected.text);
  assertError(await c.write("docs", [{ upsert: { id: 3, source: { n: 2 ** 53 } } }]), 400, "invalid_argument");
  const large = await send("", '{"ops":[{"upsert":{"id":3,"source":{"n":12345678901234567890}}}]}');
  assert.equal(large.status, 400);
});
