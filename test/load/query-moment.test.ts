import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/**
 * Queries are answered by threads that read the documents by themselves, from the store's file and from what they were told of
 * since. While documents change, rows and index must still be of one moment, and a write that was acknowledged must show.
 */

let server: ServerProcess;
const writers = 6;
const documentsEach = 8;
const writesEach = 120;
const readers = 6;

before(async () => {
  server = await ServerProcess.start({
    flags: ["--collection-seal-records", "200", "--collection-seal-idle", "200ms"],
  });
  await post("", { name: "n" });
  const fields = [
    { name: "n", kind: "i64" },
    { name: "text", kind: "text" },
  ];
  await post("/n/collections", { name: "c", schema: { fields } });
});

after(() => server[Symbol.asyncDispose]());

async function post(path: string, body: object) {
  const answer = await ask(`${server.url}/v1/namespaces${path}`, { body });
  assert(answer.status < 300, answer.text);
  return answer.json;
}

/** Deletes now and then, so that a document made anew has a version that it had before. */
async function write(writer: number): Promise<void> {
  for (let i = 0; i < writesEach; i++) {
    const id = writer * documentsEach + (i % documentsEach);
    const isDelete = i % 7 === 3;
    const n = (i * 37 + writer) % 100;
    const op = isDelete ? { delete: { id } } : { upsert: { id, source: { n, text: `n${n} wörd` } } };
    await post("/n/collections/c/documents", { ops: [op] });
    const { rows } = await post("/n/query", { from: "c", filter: { ids: { values: [id] } } });
    assert.deepEqual(rows, isDelete ? [] : [{ _id: id, _score: 0, n, text: `n${n} wörd` }]);
  }
}

async function read(reader: number, isOver: () => boolean): Promise<number> {
  let seen = 0;
  for (let i = 0; !isOver(); i++) {
    const least = (i * 13 + reader * 29) % 100;
    const { rows } = await post("/n/query", { from: "c", filter: { range: { n: { gte: least } } }, limit: 100 });
    for (const row of rows) {
      assert(row.n >= least, `a row with ${row.n} was found by at least ${least}`);
      assert.equal(row.text, `n${row.n} wörd`);
      seen++;
    }
  }
  return seen;
}

test("rows are of the moment of their search while documents change", async () => {
  let isOver = false;
  const reading = Array.from({ length: readers }, (_, reader) => read(reader, () => isOver));
  const writing = Array.from({ length: writers }, (_, writer) => write(writer));
  try {
    await Promise.all(writing);
  } finally {
    isOver = true;
  }
  const seen = await Promise.all(reading);
  assert(seen.some((rows) => rows > 0));
});
