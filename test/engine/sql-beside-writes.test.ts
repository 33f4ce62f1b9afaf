import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import { readValue } from "../../src/engine/sql/value.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

const collections = 30;
const documents = 40;
const readers = 4;

/** Values whose range grows with each document: DuckDB packs what it sorts by the range that it knows of. */
const textOf = (id: number) => "v".repeat(1 + (id >> 2));
const idOf = (n: number) => n * n;

async function rowsOf(engine: Engine, query: string): Promise<unknown[][]> {
  await using result = await engine.sql.run({ namespace: "m", query, params: [], token: [], consistency: "strong" });
  const rows: unknown[][] = [];
  for (let batch = await result.next(); batch !== undefined; batch = await result.next()) {
    for (let i = 0; i < batch.rows; i++) rows.push(batch.columns.map((column) => readValue(column, i)));
  }
  return rows;
}

test("statements that run beside each other and beside a writer have the rows that were written", async (t) => {
  const engine = await startMemoryEngine({}, new MemoryStore());
  t.after(() => engine.stop());
  await engine.metastore.createNamespace("m");
  const schema = parseSchema({ fields: [{ name: "k", kind: "keyword" }] });
  for (let at = 0; at < collections; at++) {
    const collection = `c${at}`;
    await engine.collections.create("m", collection, schema);
    let isDone = false;
    const write = async () => {
      for (let n = 0; n < documents; n++) {
        const plain = { vectors: undefined, sparseVectors: undefined, condition: undefined, ifVersion: undefined };
        const op = { kind: "upsert" as const, id: idOf(n), source: { k: textOf(n) }, ...plain };
        await engine.documents.write({ namespace: "m", collection }, [op], 100);
      }
      isDone = true;
    };
    const read = async () => {
      while (!isDone) {
        const rows = await rowsOf(engine, `SELECT _id, k FROM ${collection} ORDER BY _id`);
        const written = rows.map((_, n) => [BigInt(idOf(n)), textOf(n)]);
        assert.deepEqual(rows, written);
      }
    };
    await Promise.all([write(), ...Array.from({ length: readers }, read)]);
  }
});
