import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../listener/harness.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import {
  bind,
  errorFields,
  firstColumn,
  int32,
  parse,
  query,
  RawPostgres,
  startup,
  sync,
} from "../wire/postgres/raw-client.ts";
import { makeShop, stillServes } from "../wire/postgres/shop.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_WIRE_CONNECTIONS_MAX: "50" } });
  await makeShop(server.url);
});
after(() => server[Symbol.asyncDispose]());

test("a reader that takes nothing holds up only itself", async () => {
  const slow = await RawPostgres.signedIn(server.postgres, "shop");
  slow.socket.pause();
  slow.send(query("select repeat('x', 1000) from range(200000)"));
  await stillServes(server);
  slow.socket.resume();
  const heard = await slow.until("Z");
  assert.equal(heard.filter(({ type }) => type === "D").length, 200_000);
  slow.socket.destroy();
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
  await stillServes(server);
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
  await stillServes(server);
  for (const { socket } of clients) socket.destroy();
  await stillServes(server);
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
