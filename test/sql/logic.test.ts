import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { datasetNamespace, loadSqlDataset } from "../support/sql-dataset.ts";
import { checkCase, parseLogic, type RunSql } from "../support/sqllogic.ts";

/** Every .slt file of this folder, over REST. */

const folder = new URL("./", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".slt"));

describe("SQL cases over REST", () => {
  let server: ServerProcess;
  let run: RunSql;

  before(async () => {
    server = await ServerProcess.start();
    await loadSqlDataset(server.url);
    run = async (query) => {
      const done = await ask(`${server.url}/v1/namespaces/${datasetNamespace}/sql`, { body: { query } });
      if (done.status !== 200) throw new Error(done.json?.message ?? done.text);
      const { columns, rows } = done.json as { columns: { name: string }[]; rows: Record<string, unknown>[] };
      return rows.map((row) => columns.map(({ name }) => textOf(row[name])));
    };
  });

  after(() => server[Symbol.asyncDispose]());

  test("there are at least two hundred", () => {
    const count = files.reduce((sum, name) => sum + parseLogic(readFileSync(new URL(name, folder), "utf8")).length, 0);
    assert.ok(count >= 200, String(count));
  });

  for (const name of files) {
    describe(name, () => {
      const labels = new Map<string, string>();
      for (const each of parseLogic(readFileSync(new URL(name, folder), "utf8"))) {
        test(`line ${each.line}: ${each.sql.slice(0, 80)}`, () => checkCase(run, each, labels));
      }
    });
  }
});

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
