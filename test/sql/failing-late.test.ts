import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { sqlWires } from "../support/sql-wires.ts";

/** The row that fails, far behind what one answer of DuckDB's holds. */
const failing = (row: number, rows: number) =>
  `SELECT range AS r, CAST(CASE WHEN range = ${row} THEN 'x' ELSE '1' END AS INT) AS z FROM range(${rows})`;

test("a statement that fails after its first rows is an error, over every wire", async (t) => {
  const server = await ServerProcess.start();
  t.after(() => server.stop());
  assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } })).status, 201);
  for (const [name, connect] of Object.entries(sqlWires)) {
    await t.test(name, async () => {
      await using wire = await connect(server, "n");
      const run = wire.fail ?? wire.run;
      await assert.rejects(run(failing(100_000, 200_000)), /Could not convert string 'x' to INT32/);
      // Over REST the first rows are sent by then: the answer ends without its end.
      await assert.rejects(run(failing(900_000, 1_000_000)), /Could not convert string 'x' to INT32|terminated/);
      await assert.rejects(run("SELECT CASE WHEN range = 70000 THEN error('boom') END FROM range(80000)"), /boom/);
      assert.equal((await wire.run(failing(-1, 20_000))).length, 20_000);
    });
  }
});
