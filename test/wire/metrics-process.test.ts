import assert from "node:assert/strict";
import { test } from "node:test";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { Client } from "pg";
import { ask } from "../support/http.ts";
import type { ServerProcess } from "../support/process.ts";
import { connectTo, fillShop, startServer } from "./mysql/server.ts";

async function metricsOf(server: ServerProcess): Promise<(name: string) => number> {
  const { text } = await ask(`${server.url}/metrics`);
  return (name) => {
    const line = text.split("\n").find((each) => each.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length + 1));
  };
}

/** Proves: connections, statements, errors and times of each SQL wire are told by `/metrics`, each under its name. */
test("the wires are counted", async () => {
  const { server, port } = await startServer({ env: { SERVICE_POSTGRES_LISTEN: "127.0.0.1:0" } });
  await using _ = server;
  await fillShop(server.url);
  const postgres = new Client({ ...server.postgres, user: "u", database: "shop" });
  await postgres.connect();
  await postgres.query("SELECT 1 AS one FROM collections.docs LIMIT 1");
  await assert.rejects(postgres.query("SELECT nothing FROM collections.docs"), { code: "42703" });
  const mysql = await connectTo(port);
  await mysql.query("SELECT title FROM docs LIMIT 1");
  await assert.rejects(mysql.query("SELECT * FROM no_such_table"), { errno: 1146 });
  const { hostname, port: main } = new URL(server.url);
  const flight = await createFlightSqlClient({
    host: hostname,
    port: Number(main),
    tls: false,
    headers: [{ key: "namespace", value: "shop" }],
  });
  await flight.query("SELECT 1 AS one FROM collections.docs LIMIT 1");

  const metric = await metricsOf(server);
  assert.equal(metric('service_wire_connections{wire="postgres"}'), 1);
  assert.equal(metric('service_wire_connections{wire="mysql"}'), 1);
  assert.equal(metric('service_wire_connections_total{wire="postgres",event="accepted"}'), 1);
  assert.equal(metric('service_wire_connections_total{wire="mysql",event="refused"}'), 0);
  assert(metric('service_wire_connections_total{wire="http",event="accepted"}') >= 1);
  assert(metric('service_wire_statements_total{wire="postgres",outcome="ok"}') >= 1);
  assert.equal(metric('service_wire_statements_total{wire="flight",outcome="ok"}'), 1);
  assert.equal(metric('service_wire_errors_total{wire="postgres",code="42703"}'), 1);
  assert.equal(metric('service_wire_errors_total{wire="mysql",code="1146"}'), 1);
  for (const wire of ["postgres", "mysql", "flight"]) {
    assert(metric(`service_wire_statement_seconds_count{wire="${wire}"}`) >= 1, wire);
  }
  await postgres.end();
  await mysql.end();
});
