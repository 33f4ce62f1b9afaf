import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";
import {
  errorFields,
  firstColumn,
  int32,
  message,
  parse,
  query,
  RawPostgres,
  startup,
  sync,
  text,
} from "./raw-client.ts";
import { makeShop, stillServes } from "./shop.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_WIRE_CONNECTIONS_MAX: "50" } });
  await makeShop(server.url);
});
after(() => server[Symbol.asyncDispose]());

for (const [what, bytes, code] of [
  ["speaks HTTP", Buffer.from("GET / HTTP/1.1\r\n\r\n"), "08P01"],
  ["sends a startup that is too long", Buffer.concat([int32(1_000_000), int32(3 << 16)]), "08P01"],
  ["sends a startup that is too short", int32(4), "08P01"],
  ["sends a negative length", int32(-5), "08P01"],
  ["asks for protocol 2", Buffer.concat([int32(8), int32(2 << 16)]), "0A000"],
  ["names no user", startup({ database: "shop" }), "28000"],
  ["wants to replicate", startup({ user: "u", database: "shop", replication: "true" }), "0A000"],
  ["has a startup that does not end", Buffer.concat([int32(12), int32(3 << 16), Buffer.from("user")]), "08P01"],
] as const) {
  test(`who ${what} is told ${code}, and closed`, async () => {
    const client = await new RawPostgres(server.postgres).send(bytes).closed();
    assert.equal(errorFields(client.heard[0]!)["C"], code);
    await stillServes(server);
  });
}

for (const [what, bytes, code] of [
  ["of no known type", message("!", text("x")), "08P01"],
  ["with a length below its own", Buffer.concat([Buffer.from("Q"), int32(3)]), "08P01"],
  ["larger than may be", Buffer.concat([Buffer.from("Q"), int32(2 ** 31 - 1)]), "54000"],
] as const) {
  test(`a message ${what} ends the connection with ${code}`, async () => {
    const client = await RawPostgres.signedIn(server.postgres, "shop");
    await client.send(bytes).closed();
    assert.equal(errorFields(client.heard[0]!)["C"], code);
    await stillServes(server);
  });
}

test("random bytes harm nothing", async () => {
  let seed = 7;
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed >> 16;
  };
  for (let round = 0; round < 30; round++) {
    const noise = Buffer.from(Array.from({ length: 1 + (next() % 400) }, () => next() & 0xff));
    const opening = new RawPostgres(server.postgres);
    opening.socket.end(noise);
    const inside = await RawPostgres.signedIn(server.postgres, "shop");
    // Of a known type and length, so that its inside is read.
    inside.send(message("QPBDEC"[round % 6]!, noise), sync);
    inside.socket.end();
    await Promise.all([opening.closed(), inside.closed()]);
  }
  await stillServes(server);
});

test("who goes away in the middle of everything leaves nothing behind", async () => {
  for (const bytes of [
    Buffer.alloc(0),
    startup({ user: "u", database: "shop" }).subarray(0, 10),
    Buffer.concat([startup({ user: "u", database: "shop" }), Buffer.from("Q"), int32(100), Buffer.from("sel")]),
    Buffer.concat([startup({ user: "u", database: "shop" }), query("select * from range(10000000)")]),
  ]) {
    const socket = connect(server.postgres);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(bytes);
    socket.destroy();
  }
  await stillServes(server);
});

test("a statement whose client has gone is stopped", async () => {
  const stopped = async () =>
    /service_sql_statements_total\{[^}]*"cancelled"[^}]*\} (\d+)/.exec(
      (await ask(`${server.url}/metrics`)).text,
    )?.[1] ?? "0";
  const before = Number(await stopped());
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  client.send(query("select count(*) from range(100000000000) a where a.range % 7 = 3"));
  // What came after it has been answered, so it is under way.
  await stillServes(server);
  client.socket.destroy();
  for (let tries = 0; Number(await stopped()) === before; tries++) {
    assert.ok(tries < 1_000, "the statement went on");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test("a wrong key cancels nothing", async () => {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  const attacker = new RawPostgres(server.postgres);
  await attacker.send(Buffer.concat([int32(16), int32(80_877_102), int32(1), int32(0)])).closed();
  assert.equal(attacker.heard.length, 0);
  client.send(query("select 1"));
  assert.deepEqual(firstColumn(await client.until("Z")), ["1"]);
  client.socket.destroy();
});

test("prepared statements and cursors of a session are bounded", async () => {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  client.send(Buffer.concat(Array.from({ length: 1_001 }, (_, i) => parse(`s${i}`, "select 1"))));
  client.send(sync);
  const statements = await client.until("Z");
  assert.equal(statements.filter(({ type }) => type === "1").length, 1_000);
  assert.equal(errorFields(statements.find(({ type }) => type === "E")!)["C"], "54000");
  client.send(query("begin"));
  await client.until("Z");
  const declare = Array.from({ length: 101 }, (_, i) => `declare c${i} cursor for select 1`).join(";");
  client.send(query(declare));
  const cursors = await client.until("Z");
  assert.equal(errorFields(cursors.find(({ type }) => type === "E")!)["C"], "53000");
  client.socket.destroy();
  await stillServes(server);
});
