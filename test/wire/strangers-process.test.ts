import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { networkInterfaces } from "node:os";
import { after, before, test } from "node:test";
import { type Connection, createConnection } from "mysql2/promise";
import pg from "pg";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { bind, errorFields, execute, message, parse, RawPostgres, startup, text } from "./postgres/raw-client.ts";

/** What the server gives those who have no credential, or one that is no longer good. */
const boss = "b".repeat(40);
const environment = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${boss}` };
let dataDir: string;
let server: ServerProcess;

before(async () => {
  dataDir = await temporaryFolder();
  server = await ServerProcess.start({ dataDir, env: environment });
  assert.equal((await asBoss("namespaces", { body: { name: "shop" } })).status, 201);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

function asBoss(path: string, options: Parameters<typeof ask>[1] = {}) {
  return ask(`${server.url}/v1/${path}`, { ...options, headers: { authorization: `Bearer ${boss}` } });
}

async function makeKey(name: string): Promise<string> {
  const { json } = await asBoss("instance/keys", { body: { name, role: "reader", namespace: "shop" } });
  return json.key as string;
}

async function revoke(name: string): Promise<void> {
  assert.equal((await asBoss(`instance/keys/${name}`, { method: "DELETE" })).status, 200);
}

for (const path of [
  "/service.instance.v1.InstanceService/GetInstance",
  "/grpc.health.v1.Health/Check",
  "/arrow.flight.protocol.FlightService/Handshake",
]) {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };

  test(`a call of 20 KiB to ${path} is told that it is too large`, async () => {
    const session = connectHttp2(server.url);
    const stream = session.request(headers);
    const body = Buffer.alloc(20 * 1024);
    body.writeUInt32BE(body.length - 5, 1);
    stream.end(body);
    stream.resume();
    const [trailers] = (await once(stream, "trailers")) as [Record<string, string>];
    assert.equal(trailers["grpc-status"], "3");
    session.destroy();
  });
}

const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.internal === false && each.family === "IPv4")?.address;

test("no password is asked for in clear text off loopback without a certificate", {
  skip: elsewhere === undefined && "this machine has no address but loopback",
}, async () => {
  const everywhere = { SERVICE_POSTGRES_LISTEN: "0.0.0.0:0", SERVICE_MYSQL_LISTEN: "0.0.0.0:0" };
  await using open = await ServerProcess.start({ env: { ...environment, ...everywhere } });
  const { port } = open.postgres;
  const client = new RawPostgres({ host: elsewhere!, port }).send(startup({ user: "u", database: "shop" }));
  await client.closed();
  assert.deepEqual(client.types, "E");
  assert.equal(errorFields(client.heard[0]!)["C"], "28000");
  assert.match(errorFields(client.heard[0]!)["H"]!, /certificate/);
  const local = new RawPostgres({ host: "127.0.0.1", port }).send(startup({ user: "u", database: "shop" }));
  assert.equal((await local.until("R"))[0]!.body.readInt32BE(0), 3);
  local.socket.destroy();
  const mysql = { port: open.mysql.port, user: "u", password: boss };
  await assert.rejects(createConnection({ ...mysql, host: elsewhere! }), /only over TLS/);
  await (await createConnection({ ...mysql, host: "127.0.0.1" })).end();
});

for (const name of ["information_schema", "INFORMATION_SCHEMA", "pg_catalog", "mysql", "performance_schema", "sys"]) {
  test(`${name} can't be the name of a namespace`, async () => {
    const made = await asBoss("namespaces", { body: { name } });
    assert.deepEqual([made.status, made.json.field], [400, "name"]);
  });
}

for (const statement of ["select 1", "select count(*) from range(3)", "set application_name = 'x'"]) {
  test(`a revoked key ends its Postgres session with the next statement: ${statement}`, async () => {
    const client = new pg.Client({ ...server.postgres, user: "u", database: "shop", password: await makeKey("till") });
    client.on("error", () => {});
    await client.connect();
    await client.query(statement);
    await client.query({ text: statement, name: "kept" });
    await revoke("till");
    await assert.rejects(client.query(statement), { code: "28P01" });
    await client.end().catch(() => {});
  });
}

test("a batch that does not end keeps no Postgres session of a revoked key", async () => {
  const client = new RawPostgres(server.postgres).send(startup({ user: "u", database: "shop" }));
  await client.until("R");
  const key = await makeKey("endless");
  client.send(message("p", text(key)));
  await client.until("Z");
  const batch = [parse("", "select 1"), bind("", ""), execute(""), message("H")];
  client.send(...batch);
  await client.until("C");
  await revoke("endless");
  await client.send(...batch).closed();
  assert.equal(errorFields(client.heard.find(({ type }) => type === "E")!)["C"], "28P01");
  assert.ok(client.heard.every(({ type }) => type !== "D"));
});

test("a revoked key ends its session between the statements of one message", async () => {
  const long = "select sum(a.range * b.range) from range(20000) a, range(5000) b";
  const postgres = new pg.Client({ ...server.postgres, user: "u", database: "shop", password: await makeKey("many") });
  postgres.on("error", () => {});
  await postgres.connect();
  const asked = assert.rejects(postgres.query(`${long}; select 1`), { code: "28P01" });
  await revoke("many");
  await asked;
  await postgres.end().catch(() => {});
  const options = { user: "u", database: "shop", password: await makeKey("more"), multipleStatements: true };
  const mysql = await createConnection({ ...server.mysql, ...options });
  mysql.on("error", () => {});
  const refused = assert.rejects(mysql.query(`${long}; select 1`), { errno: 1045 });
  await revoke("more");
  await refused;
  mysql.destroy();
});

test("no wire lets a column named like its own schema call what is refused", async () => {
  const postgres = new pg.Client({ ...server.postgres, user: "u", database: "shop", password: await makeKey("calls") });
  await postgres.connect();
  const mysql = await createConnection({
    ...server.mysql,
    user: "u",
    database: "shop",
    password: await makeKey("calls2"),
  });
  for (const name of ["current_setting", "json_structure", "getvariable", "sleep_ms"]) {
    const call = (schema: string) => `select ${schema}.${name}() from (select 'a' as ${schema}) t`;
    await assert.rejects(postgres.query(call("postgres_catalog")), ({ code }) => ["42501", "42883"].includes(code));
    await assert.rejects(mysql.query(call("mysql_functions")), ({ errno }) => [1227, 1305].includes(errno));
  }
  await postgres.end();
  await mysql.end();
});

for (const [how, run] of [
  ["query", (client: Connection) => client.query("select 1")],
  ["execute", (client: Connection) => client.execute("select 1")],
  ["ping", (client: Connection) => client.ping()],
] as const) {
  test(`a revoked key ends its MySQL session with the next command: ${how}`, async () => {
    const password = await makeKey("till");
    const client = await createConnection({ ...server.mysql, user: "u", database: "shop", password });
    client.on("error", () => {});
    await run(client);
    await revoke("till");
    await assert.rejects(run(client), { errno: 1045 });
    client.destroy();
  });
}
