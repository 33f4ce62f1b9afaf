import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { ServerProcess } from "../support/process.ts";
import { datasetNamespace, loadSqlDataset } from "../support/sql-dataset.ts";
import { type SqlWire, sqlWires } from "../support/sql-wires.ts";
import { checkCase, parseLogic } from "../support/sqllogic.ts";

/** Every .slt file of this folder, with a client of each wire: the same statements give the same rows. */

const folder = new URL("./", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".slt"));

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start();
  await loadSqlDataset(server.url);
});
after(() => server[Symbol.asyncDispose]());

test("there are at least two hundred cases", () => {
  const count = files.reduce((sum, name) => sum + parseLogic(readFileSync(new URL(name, folder), "utf8")).length, 0);
  assert.ok(count >= 200, String(count));
});

for (const [name, open] of Object.entries(sqlWires)) {
  describe(`SQL cases over ${name}`, () => {
    let wire: SqlWire;
    before(async () => {
      wire = await open(server, datasetNamespace);
    });
    after(() => wire[Symbol.asyncDispose]());

    for (const file of files) {
      describe(file, () => {
        const labels = new Map<string, string>();
        for (const each of parseLogic(readFileSync(new URL(file, folder), "utf8"))) {
          const skip = each.skips.get(name) ?? false;
          test(`line ${each.line}: ${each.sql.slice(0, 80)}`, { skip }, () => checkCase(wire, each, labels));
        }
      });
    }
  });
}
