import assert from "node:assert/strict";
import { test } from "node:test";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { tableFromIPC } from "apache-arrow";
import type { Principal } from "../../../src/engine/auth/principal.ts";
import { bearerJson } from "../rpc/server.ts";
import { rowsOfBatch, ScriptedSql, startFlight } from "./scripted.ts";

/** The client of npm, which is that of Rust. */

const headers = [{ key: "namespace", value: "shop" }];

async function connect(port: number, signIn: { username?: string; password?: string; token?: string } = {}) {
  return await createFlightSqlClient({ host: "127.0.0.1", port, tls: false, headers, ...signIn });
}

test("it signs in, queries and lists", async () => {
  const principal: Principal = { id: "k", kind: "service_account", displayName: "k", method: "apikey", role: "reader" };
  const password = JSON.stringify(principal);
  const engine = new ScriptedSql();
  const columns = [{ name: "_id", type: { kind: "int64" } as const }];
  engine.tablesOf["shop"] = [{ schema: "collections", name: "docs", columns }];
  await using server = await startFlight(engine, ["shop", "lab"], { authenticator: bearerJson });
  for (const signIn of [{ username: "ada", password }, { token: password }]) {
    const client = await connect(server.port, signIn);
    const table = tableFromIPC(await client.query("rows 100000"));
    assert.equal(table.numRows, 49 * rowsOfBatch);
    assert.equal(table.getChild("n")!.get(99_999), 99_999n);
    assert.equal(table.getChild("t")!.get(99_999), "abcdefgh");
    const names = (bytes: Buffer, column: string) => [...tableFromIPC(bytes).getChild(column)!] as unknown[];
    assert.deepEqual(names(await client.getCatalogs(), "catalog_name"), ["shop"]);
    assert.deepEqual(names(await client.getDbSchemas({ dbSchemaFilterPattern: "c%" }), "db_schema_name"), [
      "collections",
      "counters",
    ]);
    const tables = await client.getTables({
      includeSchema: true,
      tableNameFilterPattern: "d_cs",
      tableTypes: ["TABLE"],
    });
    assert.deepEqual(names(tables, "table_name"), ["docs"]);
    await assert.rejects(client.query("bad"));
  }
});
