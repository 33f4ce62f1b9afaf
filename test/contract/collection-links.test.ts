import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { Piped, pipedSchema, type RecordJson } from "../support/piped.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start();
});

after(() => server[Symbol.asyncDispose]());

test("records become documents, later ones replace earlier ones, and one without a value deletes", async () => {
  const piped = await Piped.create(server.url, "fills");
  await piped.createCollection();
  const made = await piped.link({ id: { json: "/key" }, source: "/doc", vectors: { v: "/embedding" } });
  assert.equal(made.status, 201, made.text);
  await piped.send([
    { value: { key: 1, doc: { title: "one" }, embedding: [1, 0] } },
    { value: { key: "2", doc: { title: "two" } } },
    { value: { key: 3, doc: { title: "three" } } },
  ]);
  await piped.send([
    { value: { key: 1, doc: { title: "one again", rank: 5 }, embedding: null } },
    { key: "3" },
    { key: "77" },
  ]);
  const detail = await piped.drained();
  assert.deepEqual(await piped.documents(), [
    [1, 2, { title: "one again", rank: 5 }],
    [2, 1, { title: "two" }],
  ]);
  assert.deepEqual(
    [detail.status, detail.applied, detail.skipped, detail.errors, detail.error],
    ["running", [{ partition: 0, offset: 6 }], 0, [], undefined],
  );
  assert(detail.version >= 1);
  const found = await ask(`${piped.client.url}/collections/c/documents/count`, {
    body: { filter: { match: { title: "again" } } },
  });
  assert.equal(found.json.count, 1);
});

test("a read of the collection with a token of the link's source reflects it", async () => {
  const piped = await Piped.create(server.url, "derived");
  await piped.createCollection();
  await piped.link();
  const count = (token: string, consistency: string) =>
    ask(`${piped.client.url}/collections/c/documents/count`, {
      headers: { "service-consistency-token": token },
      body: { consistency },
    });
  for (let id = 0; id < 40; id++) {
    const records = [{ value: base64(JSON.stringify({ id, title: "t" })) }];
    const done = await ask(piped.client.recordsUrl("s", 0), { body: { records } });
    const token = done.headers.get("service-consistency-token")!;
    const found = await count(token, id % 2 === 0 ? "strong" : "eventual");
    assert.equal(found.json.count, id + 1, found.text);
  }
});

test("what fits no document is skipped and told, the last 20 of it", async () => {
  const piped = await Piped.create(server.url, "misfits");
  await piped.createCollection({ dynamic: "strict" });
  await piped.link({ id: { json: "/id" }, source: "/doc", vectors: { v: "/v" } });
  const cases: [record: RecordJson, reason: RegExp][] = [
    [{ value: "{" }, /^value: /],
    [{ value: "" }, /^value: /],
    [{ value: { doc: {} } }, /^id: /],
    [{ value: { id: -1, doc: {} } }, /^id: /],
    [{ value: { id: 1.5, doc: {} } }, /^id: /],
    [{ value: { id: "9007199254740993", doc: {} } }, /^id: /],
    [{ value: { id: 1 } }, /^source: /],
    [{ value: { id: 1, doc: [] } }, /^source: /],
    [{ value: { id: 1, doc: { rank: "high" } } }, /^source\.rank: /],
    [{ value: { id: 1, doc: { other: 1 } } }, /^source\.other: /],
    [{ value: { id: 1, doc: {}, v: [1] } }, /^vectors\.v: /],
    [{ value: { id: 1, doc: {}, v: "x" } }, /^vectors\.v: /],
    [{}, /^key: /],
    [{ key: "x" }, /^key: /],
    [{ key: "01" }, /^key: /],
  ];
  await piped.send([{ value: { id: 7, doc: { rank: 1 } } }, ...cases.map(([record]) => record)]);
  await piped.send([{ value: { id: 8, doc: { rank: 2 } } }]);
  const detail = await piped.drained();
  assert.equal(detail.skipped, cases.length);
  cases.forEach(([record, reason], i) => {
    const { partition, offset, reason: told } = detail.errors[i];
    assert.deepEqual([partition, offset], [0, i + 1], JSON.stringify(record));
    assert.match(told, reason, JSON.stringify(record));
  });
  assert.deepEqual(
    (await piped.documents()).map((document) => (document as unknown[])[0]),
    [7, 8],
  );

  await piped.send(Array.from({ length: 30 }, () => ({ value: "no" })));
  const { errors, skipped } = await piped.drained();
  assert.equal(skipped, cases.length + 30);
  const offsets = errors.map(({ offset }: { offset: number }) => offset);
  const end = cases.length + 32;
  assert.deepEqual(
    offsets,
    Array.from({ length: 20 }, (_, i) => end - 20 + i),
  );
});

test("a misfit leaves no field behind in a dynamic schema", async () => {
  const piped = await Piped.create(server.url, "dynamic");
  await piped.createCollection({ dynamic: "dynamic" });
  await piped.link({ source: "/doc" });
  await piped.send([{ value: { id: 1, doc: { fresh: 1, rank: "bad" } } }, { value: { id: 2, doc: { other: "x" } } }]);
  assert.equal((await piped.drained()).skipped, 1);
  const info = await ask(`${piped.client.url}/collections/c`);
  assert.deepEqual(
    info.json.schema.fields.map(({ name }: { name: string }) => name),
    ["title", "rank", "other"],
  );
});

test("offsets as ids tell the records of several partitions apart", async () => {
  const piped = await Piped.create(server.url, "offsets", 3);
  await piped.createCollection();
  await piped.link({ id: "offset" });
  for (const partition of [0, 1, 2]) {
    await piped.send([{ value: { rank: partition } }, { value: { rank: 10 + partition } }], partition);
  }
  await piped.drained();
  assert.deepEqual(await piped.documents(), [
    [0, 1, { rank: 0 }],
    [1, 1, { rank: 1 }],
    [2, 1, { rank: 2 }],
    [3, 1, { rank: 10 }],
    [4, 1, { rank: 11 }],
    [5, 1, { rank: 12 }],
  ]);
  await piped.send([{ key: "4" }], 2);
  await piped.drained();
  assert.equal((await piped.documents()).length, 5);
});

test("wrong options name the option at fault", async () => {
  const piped = await Piped.create(server.url, "options");
  const cases: [options: object, field: string][] = [
    [{ key: "/id" }, "options.key"],
    [{ id: "key" }, "options.id"],
    [{ id: { json: 1 } }, "options.id.json"],
    [{ id: { json: "id" } }, "options.id.json"],
    [{ id: { json: "/a", header: "b" } }, "options.id"],
    [{ source: 3 }, "options.source"],
    [{ source: "doc" }, "options.source"],
    [{ vectors: [] }, "options.vectors"],
    [{ vectors: { v: "x" } }, "options.vectors.v"],
  ];
  for (const [options, field] of cases) assertError(await piped.link(options), 400, "invalid_argument", field);
});

test("a link waits for its collection, and fills one that is made anew from the start", async () => {
  const piped = await Piped.create(server.url, "anew");
  assert.equal((await piped.link()).status, 201);
  await piped.send([{ value: { id: 1, rank: 1 } }, { value: { id: 1, rank: 2 } }, { value: { id: 2, rank: "x" } }]);
  const waiting = await eventually(
    () => piped.detail(),
    ({ error }) => error !== undefined,
  );
  assert.match(waiting.error, /"c" does not exist/);
  assert.deepEqual([waiting.status, waiting.lag], ["running", [{ partition: 0, records: 3 }]]);

  await piped.createCollection();
  const filled = await piped.drained();
  assert.deepEqual([filled.error, filled.skipped], [undefined, 1]);
  assert.deepEqual(await piped.documents(), [[1, 2, { id: 1, rank: 2 }]]);

  assert.equal((await ask(`${piped.client.url}/collections/c`, { method: "DELETE" })).status, 200);
  const fields = [{ name: "rank", kind: "json" }];
  const made = await ask(`${piped.client.url}/collections`, { body: { name: "c", schema: { fields } } });
  assert.equal(made.status, 200, made.text);
  await eventually(
    () => piped.documents(),
    (documents) => documents.length === 2,
  );
  const again = await piped.drained();
  assert.deepEqual([again.skipped, again.errors, again.version > filled.version], [0, [], true]);
  assert.deepEqual(await piped.documents(), [
    [1, 2, { id: 1, rank: 2 }],
    [2, 1, { id: 2, rank: "x" }],
  ]);
});

test("an alias is no target", async () => {
  const piped = await Piped.create(server.url, "aliased");
  await ask(`${piped.client.url}/collections`, { body: { name: "real", schema: pipedSchema } });
  await ask(`${piped.client.url}/aliases`, { body: { actions: [{ add: { alias: "c", collection: "real" } }] } });
  await piped.link();
  const { error } = await eventually(
    () => piped.detail(),
    (detail) => detail.error !== undefined,
  );
  assert.match(error, /"c" does not exist/);
});

test("a deleted link leaves its documents, and a new one of its name starts over", async () => {
  const piped = await Piped.create(server.url, "deleted");
  await piped.createCollection();
  await piped.link();
  await piped.send([{ value: { id: 1 } }, { value: "misfit" }]);
  await piped.drained();
  assert.equal((await ask(`${piped.client.url}/links/l`, { method: "DELETE" })).status, 200);
  assert.deepEqual(await piped.documents(), [[1, 1, { id: 1 }]]);
  await piped.link();
  assert.equal((await piped.drained()).skipped, 1);
  assert.deepEqual(await piped.documents(), [[1, 2, { id: 1 }]]);
});
