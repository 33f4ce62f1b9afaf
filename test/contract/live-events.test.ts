import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ConnectError } from "@connectrpc/connect";
import { ask } from "../support/http.ts";
import { events, LiveNamespaceClient, withEvents } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start();
});
after(() => server[Symbol.asyncDispose]());

test("a stream is told of each change of a table, once and in order, until it is told no more", async () => {
  const live = await withEvents(server, "told");
  const insert = (document: object) => live.mutate("_tables:insert", { table: "notes", document: document as never });
  const id = (await insert({ text: "a", n: { $int64: "7" }, raw: { $bytes: "AA==" } })) as string;
  await live.mutate("_tables:patch", { id, patch: { text: "b" } });
  await live.mutate("_tables:remove", { id });
  await assert.rejects(live.mutate("_tables:remove", { id }));
  const told = await events(server, "told");
  assert.deepEqual(
    told.map(({ type, subject, source }) => [type, subject === id, source]),
    ["inserted", "updated", "deleted"].map((kind) => [`service.live.v1.${kind}`, true, "/namespaces/told/live/notes"]),
  );
  const { _number, _creationTime, ...fields } = told[0]!.data!;
  assert.deepEqual(fields, { _id: id, text: "a", n: 7, raw: "AA==" });
  assert.deepEqual(new Set(told.map(({ partitionkey }) => partitionkey)), new Set([String(_number)]));
  assert.deepEqual([told[1]!.data!["text"], told[2]!.data], ["b", undefined]);
  await live.client.deploy({ namespace: "told", modules: [], schema: { tables: { notes: { indexes: [] } } } });
  await insert({ text: "after a deployment" });
  assert.equal((await events(server, "told")).length, 4);
  await live.mutate("_tables:events", { table: "notes", stream: null });
  await insert({ text: "silent" });
  assert.equal((await events(server, "told")).length, 4);
  await live.mutate("_tables:events", { table: "notes", stream: "changes" });
  await ask(`${server.url}/v1/namespaces/told/streams/changes`, { method: "DELETE" });
  await insert({ text: "the stream is gone" });
});

test("what can't be told is refused", async () => {
  const live = await LiveNamespaceClient.create(server, "refused");
  await live.mutate("_tables:create", { table: "notes" });
  for (const [args, reason] of [
    [{ table: "notes", stream: "nothing" }, "not_found"],
    [{ table: "nothing", stream: null }, "not_found"],
    [{ table: "notes" }, "invalid_argument"],
    [{ table: "notes", stream: 1 }, "invalid_argument"],
  ] as const) {
    const refused = await live.mutate("_tables:events", args as never).then(
      () => "ok",
      (thrown: unknown) => infoOf(ConnectError.from(thrown)).reason,
    );
    assert.equal(refused, reason, JSON.stringify(args));
  }
});

test("a link makes live documents searchable, with their changes and removals", async () => {
  const live = await withEvents(server, "found");
  const url = `${server.url}/v1/namespaces/found`;
  const field = (name: string, kind: unknown) => ({ name, source_path: name, kind, indexed: true, fast: false });
  const text = { text: { analyzer: "standard", positions: false } };
  const schema = { fields: [field("text", text)], vectors: [], sparse_vectors: [], dynamic: "ignore", max_fields: 10 };
  assert.equal((await ask(`${url}/collections`, { body: { name: "notes", schema } })).status, 200);
  const target = { kind: "collection", name: "notes" };
  const link = { name: "fill", source: "changes", target, options: { id: { json: "/_number" } } };
  assert.equal((await ask(`${url}/links`, { body: link })).status, 201);
  const ids: string[] = [];
  // At once: no two documents may have the same number.
  for (const each of await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      live.mutate("_tables:insert", { table: "notes", document: { text: `cheese ${i}` } }),
    ),
  )) {
    ids.push(each as string);
  }
  await live.mutate("_tables:patch", { id: ids[0]!, patch: { text: "bread" } });
  await live.mutate("_tables:remove", { id: ids[1]! });
  const found = async (query: string) => {
    const retrieve = [{ text: { field: "text", query, k: 50 } }];
    const { json, text: said } = await ask(`${url}/query`, {
      body: { from: "collections.notes", retrieve, limit: 50 },
    });
    return json.rows === undefined ? said : json.rows.length;
  };
  // The read waits for the link.
  assert.deepEqual([await found("cheese"), await found("bread")], [18, 1]);
  const rows = await ask(`${url}/sql`, {
    body: { query: "SELECT n._id FROM live.notes n JOIN collections.notes c ON c._source->>'_id' = n._id" },
  });
  assert.equal(rows.json.row_count, 19);
});
