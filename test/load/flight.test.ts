import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, type ConnectError } from "@connectrpc/connect";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { tableFromIPC } from "apache-arrow";
import * as sql from "../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { FlightTestClient, json } from "../wire/flight/client.ts";

let server: ServerProcess;
let client: FlightTestClient;
let port: number;

before(async () => {
  server = await ServerProcess.start();
  port = Number(new URL(server.url).port);
  client = new FlightTestClient(server.url, { namespace: "shop" });
  await ask(`${server.url}/v1/namespaces`, { method: "POST", body: { name: "shop" } });
});
after(async () => await server[Symbol.asyncDispose]());

test("the npm client reads a million rows", async () => {
  const headers = [{ key: "namespace", value: "shop" }];
  const npm = await createFlightSqlClient({ host: "127.0.0.1", port, tls: false, headers });
  const table = tableFromIPC(await npm.query("select i, 'row ' || i as t from range(1000000) r(i) order by i"));
  assert.equal(table.numRows, 1_000_000);
  assert.equal(table.getChild("i")!.get(999_999), 999_999n);
  assert.equal(table.getChild("t")!.get(999_999), "row 999999");
});

test("wide rows come in messages that every client takes", async () => {
  const sizes: number[] = [];
  const { endpoint } = await client.info(sql.CommandStatementQuerySchema, {
    query: "select repeat('x', 100000) as t from range(200)",
  });
  for await (const { dataBody } of client.raw.doGet(endpoint[0]!.ticket!, { headers: { namespace: "shop" } }))
    sizes.push(dataBody.byteLength);
  assert.ok(Math.max(...sizes) < 4 * 1024 * 1024 && sizes.length > 9, sizes.join(" "));
});

test("500 connections at once are answered or refused, and nothing else is harmed", async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      const one = new FlightTestClient(server.url, { namespace: "shop" });
      try {
        return json(await one.query(`select ${i} as i`));
      } catch (error) {
        return (error as ConnectError).code;
      }
    }),
  );
  for (const [i, outcome] of outcomes.entries()) {
    if (Array.isArray(outcome)) assert.deepEqual(outcome, [{ i }]);
    else assert.equal(outcome, Code.ResourceExhausted);
  }
  assert.ok(outcomes.some(Array.isArray));
  assert.deepEqual(json(await client.query("select 1 as a")), [{ a: 1 }]);
});
