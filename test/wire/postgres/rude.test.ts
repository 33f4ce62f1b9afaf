import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { eventually } from "../../listener/harness.ts";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";
import {
  bind,
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
import { makeShop } from "./shop.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_WIRE_CONNECTIONS_MAX: "50" } });
  await makeShop(server.url);
});
after(() => server[Symbol.asyncDispose]());

/** The wire, and everything else, still serves. */
async function stillServes(): Promise<void> {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  client.send(query("select count(*) from items"));
  assert.deepEqual(firstColumn(await client.until("Z")), ["3"]);
  client.socket.destroy();
  assert.equal((await ask(`${server.url}/health`)).status, 200);
}

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
    await stillServes();
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
    await stillServes();
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
  await stillServes();
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
  await stillServes();
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
  await stillServes();
  client.socket.destroy();
  for (let tries = 0; Number(await stopped()) === before; tries++) {
    assert.ok(tries < 1_000, "the statement went on");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test("a reader that takes nothing holds up only itself", async () => {
  const slow = await RawPostgres.signedIn(server.postgres, "shop");
  slow.socket.pause();
  slow.send(query("select repeat('x', 1000) from range(200000)"));
  await stillServes();
  slow.socket.resume();
  const heard = await slow.until("Z");
  assert.equal(heard.filter(({ type }) => type === "D").length, 200_000);
  slow.socket.destroy();
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
  await stillServes();
});

test("500 connections at once: those over the limit are told 53300, the others work", async () => {
  const clients = Array.from({ length: 500 }, () =>
    new RawPostgres(server.postgres).send(startup({ user: "u", database: "shop" })),
  );
  const isSettled = (client: RawPostgres) => client.socket.destroyed || /[ZE]/.test(client.types);
  await eventually(() => clients.every(isSettled));
  const open = clients.filter(({ types }) => types.endsWith("Z"));
  const told = clients.filter(({ heard }) => heard.some(({ type }) => type === "E"));
  // Connections of the tests before may still be on their way out.
  assert.ok(open.length > 25 && open.length <= 50, `${open.length} are open`);
  assert.ok(told.length > 0);
  for (const { heard } of told) assert.equal(errorFields(heard.at(-1)!)["C"], "53300");
  for (const client of open.slice(0, 5)) {
    client.heard.length = 0;
    client.send(query("select 1"));
    assert.deepEqual(firstColumn(await client.until("Z")), ["1"]);
  }
  for (const { socket } of clients) socket.destroy();
  // The server hears of each of them in its own time.
  for (let isFree = false; !isFree; ) {
    const probe = new RawPostgres(server.postgres).send(startup({ user: "u", database: "shop" }));
    await eventually(() => isSettled(probe));
    isFree = probe.types.endsWith("Z");
    probe.socket.destroy();
  }
  await stillServes();
});

const MiB = 1024 * 1024;

test("messages of all sessions together are bounded by their bytes", async () => {
  const clients = await Promise.all(Array.from({ length: 30 }, () => RawPostgres.signedIn(server.postgres, "shop")));
  // All but the end of each, so that it is kept.
  const most = Buffer.concat([Buffer.from("Q"), int32(10 * MiB), Buffer.alloc(10 * MiB - 8, "x")]);
  for (const client of clients) client.send(most);
  const isTold = ({ types }: RawPostgres) => types.includes("E");
  await eventually(() => clients.filter(isTold).length >= 4);
  for (const { heard } of clients.filter(isTold)) assert.equal(errorFields(heard[0]!)["C"], "53000");
  assert.ok(clients.filter((each) => !isTold(each)).length >= 20, "those within the budget go on");
  await stillServes();
  for (const { socket } of clients) socket.destroy();
  await stillServes();
});

test("prepared statements of all sessions together are bounded by their bytes", async () => {
  const long = `/*${"x".repeat(MiB)}*/ select 1`;
  const clients = await Promise.all(Array.from({ length: 6 }, () => RawPostgres.signedIn(server.postgres, "shop")));
  const refused: string[] = [];
  for (const client of clients) {
    for (let i = 0; i < 15; i++) {
      client.send(parse(`s${i}`, long), sync);
      const error = (await client.until("Z")).find(({ type }) => type === "E");
      if (error !== undefined) refused.push(errorFields(error)["C"]!);
    }
  }
  assert.ok(refused.length > 0 && refused.every((code) => code === "53200"), refused.join());
  // Neither small ones nor others' large requests are held up by it.
  clients[5]!.send(parse("small", "select 1"), sync);
  assert.equal((await clients[5]!.until("Z"))[0]!.type, "1");
  const records = [{ value: Buffer.alloc(3 * MiB).toString("base64") }];
  const stream = { name: `large-${clients.length}`, partitions: 1 };
  assert.equal((await ask(`${server.url}/v1/namespaces/shop/streams`, { body: stream })).status, 201);
  const path = `/v1/namespaces/shop/streams/${stream.name}/partitions/0/records`;
  assert.equal((await ask(`${server.url}${path}`, { body: { records } })).status, 200);
  // A session that goes gives back what it had.
  const [first, ...others] = clients;
  first!.socket.destroy();
  const next = others.at(-1)!;
  for (let code: string | undefined = "53200"; code === "53200"; ) {
    next.send(parse("again", long), sync);
    const error = (await next.until("Z")).find(({ type }) => type === "E");
    code = error === undefined ? undefined : errorFields(error)["C"];
    assert.ok(code === undefined || code === "53200");
  }
  for (const { socket } of others) socket.destroy();
});

for (const [what, statement, values, fitting] of [
  ["their parameters", "select $1::text", ["x".repeat(10 * MiB)], 3],
  ["the tokens of their statements", `select ${"1,".repeat(24_000)}1`, [], 13],
] as const) {
  test(`portals of a session are bounded by the bytes of ${what}`, async () => {
    const client = await RawPostgres.signedIn(server.postgres, "shop");
    client.send(query("begin"));
    await client.until("Z");
    for (let i = 0; i <= fitting; i++) client.send(parse("", statement), bind(`p${i}`, "", values));
    client.send(sync);
    const heard = await client.until("Z");
    assert.equal(heard.filter(({ type }) => type === "2").length, fitting);
    assert.equal(errorFields(heard.find(({ type }) => type === "E")!)["C"], "54000");
    client.socket.destroy();
  });
}

test("a value of too many items is refused, and the session goes on", async () => {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  const codes: (string | undefined)[] = [];
  const wide = [
    "{'a': ('[' || repeat('1.5,', 2000000) || '1]')::json}",
    "list_transform(range(60000), lambda x: {'a': true, 'b': false})",
    `list_transform(range(100), lambda x: {'${"n".repeat(100_000)}': x})`,
  ];
  for (const list of [
    "range(100000)",
    "range(100001)",
    "[range(60000), range(60000)]",
    "{'a': range(100001)}",
    ...wide,
  ]) {
    client.send(query(`select ${list} as x`));
    const error = (await client.until("Z")).find(({ type }) => type === "E");
    codes.push(error && errorFields(error)["C"]);
  }
  assert.deepEqual(codes, [undefined, ...Array(6).fill("22003")]);
  client.socket.destroy();
});

test("the rows that cursors keep count, and are given back", async () => {
  const client = await RawPostgres.signedIn(server.postgres, "shop");
  client.send(query("begin"));
  await client.until("Z");
  const codes: (string | undefined)[] = [];
  for (let i = 0; i < 4; i++) {
    client.send(
      query(`declare c${i} scroll cursor for select repeat('x', 1000) from range(25000); move all from c${i}`),
    );
    const error = (await client.until("Z")).find(({ type }) => type === "E");
    codes.push(error && errorFields(error)["C"]);
    if (error !== undefined) break;
  }
  assert.deepEqual(codes, [undefined, undefined, "54000"]);
  client.send(query("rollback"));
  await client.until("Z");
  client.send(query("begin; declare c scroll cursor for select repeat('x', 1000) from range(25000); move all from c"));
  assert.ok((await client.until("Z")).every(({ type }) => type !== "E"));
  client.socket.destroy();
});
