import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { type Answer, ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { datasetNamespace, loadSqlDataset } from "../support/sql-dataset.ts";
import { assertError } from "../support/streams.ts";

/** What a statement must not reach: every attempt of test/sql/forbidden.txt is refused, and nothing comes of it. */

const attempts = readFileSync(new URL("../sql/forbidden.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

describe("the guard of SQL", () => {
  let server: ServerProcess;

  before(async () => {
    server = await ServerProcess.start();
    await loadSqlDataset(server.url);
    const other = await CollectionClient.create(server.url, "other");
    await other.made("items", { fields: [{ name: "secret", kind: "keyword" }] });
    await other.written("items", [{ upsert: { id: 1, source: { secret: "hidden" } } }]);
  });

  after(() => server[Symbol.asyncDispose]());

  function sql(query: string, namespace = datasetNamespace): Promise<Answer> {
    return ask(`${server.url}/v1/namespaces/${namespace}/sql`, { body: { query } });
  }

  for (const attempt of attempts) {
    test(attempt, async () => {
      const done = await sql(attempt);
      assertError(done, 400, "invalid_argument", "query");
      assert.doesNotMatch(done.text, /root:|hidden/);
    });
  }

  test("after all of them everything is as it was", async () => {
    const count = await sql("select count(*) as n, sum(qty) as q from items");
    assert.deepEqual(count.json.rows, [{ n: 30, q: 135 }]);
    const other = await sql("select secret from items", "other");
    assert.deepEqual(other.json.rows, [{ secret: "hidden" }]);
    const seen = await sql("select distinct table_catalog from information_schema.columns");
    assert.deepEqual(seen.json.rows, [{ table_catalog: datasetNamespace }]);
  });

  const allowed = [
    "select * from items where name = 'drop table items; --'",
    "select 'insert into x' as t",
    "select 1 as \"select * from 'x.csv'\"",
    "with copy as (select 1 as x) select x from copy",
    "  -- comment\n select 1 /* ; drop */ ;",
  ];
  for (const query of allowed) {
    test(`may be run: ${query}`, async () => {
      const done = await sql(query);
      assert.equal(done.status, 200, done.text);
    });
  }
});
