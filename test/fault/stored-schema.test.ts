import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { collectionKey, decodeCollection, encodeCollection } from "../../src/engine/collection/collection-store.ts";
import type { FieldSpec } from "../../src/engine/schema/schema.ts";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";

/** Names that earlier builds took and this one refuses: no paths, half a surrogate pair, control characters. */
const names = ["a.", "a..b", ".a", "c\u0001d", "nul\u0000", "\ud800"];

const source = Object.fromEntries(names.map((name, i) => [name, i]));

/** Gives a collection the fields that an earlier build gave it, where that build left them. */
async function addRefusedFields(dataDir: string, namespaceId: number, name: string): Promise<void> {
  const store = new LmdbStore(join(dataDir, "store"), { exclusive: true });
  const key = collectionKey(namespaceId, name);
  const meta = decodeCollection(namespaceId, "n", name, store.get(key)!);
  const added = names.map(
    (field): FieldSpec => ({ name: field, sourcePath: field, kind: { kind: "i64" }, indexed: true, fast: true }),
  );
  const schema = { ...meta.schema, fields: [...meta.schema.fields, ...added] };
  const value = encodeCollection({ ...meta, schema, schemaVersion: meta.schemaVersion + 1 });
  await store.commit([{ kind: "put", key, value }]);
  await store.close();
}

/** Proves: a stored schema that this build would not take keeps nothing from starting, and its collection serves. */
test("a collection with fields that are refused today is read, written, sealed and dropped", async () => {
  const dataDir = await temporaryFolder();
  try {
    const first = await ServerProcess.start({ dataDir });
    const made = await ask(`${first.url}/v1/namespaces`, { body: { name: "n" } });
    const before = new CollectionClient(first.url, "n");
    await before.made("c", { fields: [{ name: "ok", kind: "i64" }] });
    await before.written("c", [{ upsert: { id: 1, source: { ok: 1 } } }]);
    assert.equal(await first.stop(), 0);
    await addRefusedFields(dataDir, made.json.id, "c");

    await using server = await ServerProcess.start({ dataDir });
    const c = new CollectionClient(server.url, "n");
    const { schema } = await c.info("c");
    assert.deepEqual(
      schema.fields.map(({ name }: { name: string }) => name),
      ["ok", ...names],
    );
    assert.deepEqual((await c.get("c", 1)).json.source, { ok: 1 });
    await c.written("c", [{ upsert: { id: 2, source: { ...source, ok: 2 } } }]);
    assert.equal(await c.count("c", { term: { ok: 2 } }), 1);
    for (const [i, name] of names.entries()) assert.equal(await c.count("c", { term: { [name]: i } }), 1, name);
    const rows = await ask(`${c.url}/sql`, { body: { query: "select ok from c order by ok" } });
    assert.deepEqual(rows.json.rows, [{ ok: 1 }, { ok: 2 }], rows.text);
    await c.sealed("c");
    assert.equal(await c.count("c", { range: { ok: { gte: 1 } } }), 2);
    // Fields that are new today follow today's rules.
    const more = (name: string) => ask(`${c.of("c")}/fields`, { body: { fields: [{ name, kind: "i64" }] } });
    assert.equal((await more("b.")).status, 400);
    assert.equal((await more("b")).status, 200);
    assert.equal(await server.stop(), 0);

    const looked = await runCommand(["doctor", "--data-dir", dataDir, "--rebuild", "--json"]);
    assert.equal(looked.code, 0, looked.stderr);
    await using again = await ServerProcess.start({ dataDir });
    const dropped = await ask(`${again.url}/v1/namespaces/n/collections/c`, { method: "DELETE" });
    assert.deepEqual(dropped.json, { dropped: true }, dropped.text);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
