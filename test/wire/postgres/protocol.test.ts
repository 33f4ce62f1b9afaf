import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServerProcess } from "../../support/process.ts";
import {
  bind,
  closing,
  describe,
  errorFields,
  execute,
  firstColumn,
  type Heard,
  int16,
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
let client: RawPostgres;

before(async () => {
  server = await ServerProcess.start();
  await makeShop(server.url);
  client = await RawPostgres.signedIn(server.postgres, "shop");
});
after(async () => {
  client.socket.destroy();
  await server[Symbol.asyncDispose]();
});

const typesOf = (heard: readonly Heard[]) => heard.map(({ type }) => type).join("");
const statusOf = (heard: readonly Heard[]) => heard.at(-1)!.body.toString();

test("the greeting tells what clients count on", async () => {
  const raw = new RawPostgres(server.postgres).send(startup({ user: "u", database: "shop", application_name: "a" }));
  const heard = await raw.until("Z");
  const told = Object.fromEntries(
    heard.filter(({ type }) => type === "S").map(({ body }) => body.toString().split("\0").slice(0, 2)),
  );
  assert.match(told["server_version"], /^\d+\.\d+ \(native-engine /);
  for (const [name, value] of Object.entries({
    client_encoding: "UTF8",
    server_encoding: "UTF8",
    DateStyle: "ISO, MDY",
    TimeZone: "UTC",
    standard_conforming_strings: "on",
    integer_datetimes: "on",
    application_name: "a",
  })) {
    assert.equal(told[name], value, name);
  }
  assert.ok(heard.some(({ type }) => type === "K"));
  raw.send(message("X"));
  await raw.closed();
});

test("a batch is answered in order, with one ReadyForQuery at its Sync", async () => {
  client.send(parse("", "select $1::int + 1 as x", 23), bind("", "", ["41"]), describe("P", ""), execute(""), sync);
  const heard = await client.until("Z");
  assert.equal(typesOf(heard), "12TDCZ");
  assert.deepEqual(firstColumn(heard), ["42"]);
});

test("batches that are sent ahead are answered one after another", async () => {
  const batches = [1, 2, 3].map((n) => Buffer.concat([parse("", `select ${n}`), bind("", ""), execute(""), sync]));
  client.send(...batches);
  for (const n of ["1", "2", "3"]) {
    const heard = await client.until("Z");
    assert.equal(typesOf(heard), "12DCZ");
    assert.deepEqual(firstColumn(heard), [n]);
  }
});

test("an error makes the server pass over everything up to the Sync", async () => {
  client.send(parse("", "select nope"), bind("", ""), execute(""), parse("kept", "select 1"), query("select 1"), sync);
  const heard = await client.until("Z");
  assert.equal(typesOf(heard), "12EZ");
  assert.equal(errorFields(heard[2]!)["C"], "42703");
  client.send(bind("", "kept"), sync);
  assert.equal(errorFields((await client.until("Z"))[0]!)["C"], "26000");
});

test("a parameter that nests too deep is refused, and the session goes on", async () => {
  for (const levels of [65, 100_000]) {
    const deep = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    client.send(parse("", "select $1 as x", 1022), bind("", "", [deep]), execute(""), sync);
    const fields = errorFields((await client.until("Z")).find(({ type }) => type === "E")!);
    assert.equal(fields["C"], "0A000", JSON.stringify(fields));
    assert.match(fields["M"]!, /nested more than 64 levels/);
  }
  client.send(query("select 1"));
  assert.equal(typesOf(await client.until("Z")), "TDCZ");
});

test("Flush brings what there is without ending the batch", async () => {
  client.send(parse("", "select 1"), message("H"));
  assert.equal(typesOf(await client.until("1")), "1");
  client.send(sync);
  assert.equal(typesOf(await client.until("Z")), "Z");
});

test("a portal gives its rows in portions, as long as its transaction lasts", async () => {
  client.send(query("begin"), parse("", "select i from range(5) t(i)"), bind("p", ""), execute("p", 2), sync);
  await client.until("Z");
  assert.equal(typesOf(await client.until("Z")), "12DDsZ");
  client.send(execute("p", 2), execute("p", 2), execute("p", 2), sync);
  const rest = await client.until("Z");
  assert.equal(typesOf(rest), "DDsDCCZ");
  assert.equal(statusOf(rest), "T");
  client.send(query("commit"), execute("p"), sync);
  await client.until("Z");
  assert.equal(errorFields((await client.until("Z"))[0]!)["C"], "34000");
  client.send(parse("", "select i from range(5) t(i)"), bind("q", ""), execute("q", 2), sync, execute("q", 2), sync);
  assert.equal(typesOf(await client.until("Z")), "12DDsZ");
  assert.equal(errorFields((await client.until("Z"))[0]!)["C"], "34000");
});

test("as many rows as were asked for and no more leave a portal suspended", async () => {
  client.send(parse("", "select i from range(2) t(i)"), bind("", ""), execute("", 2), execute("", 2), sync);
  assert.equal(typesOf(await client.until("Z")), "12DDsCZ");
});

test("a statement is described with its parameters and columns", async () => {
  client.send(parse("d", "select title, v from items where _id = $1"), describe("S", "d"), closing("S", "d"), sync);
  const heard = await client.until("Z");
  assert.equal(typesOf(heard), "1tT3Z");
  assert.deepEqual([heard[1]!.body.readInt16BE(0), heard[1]!.body.readInt32BE(2)], [1, 20]);
  client.send(parse("", "set application_name = x"), describe("S", ""), bind("", ""), describe("P", ""), sync);
  assert.equal(typesOf(await client.until("Z")), "1tn2nZ");
});

test("values come in the binary format where it is asked for", async () => {
  const formats = Buffer.concat([int16(0), int16(0), int16(1), int16(1)]);
  const sql = "select 258::int, 1.5::double, 'é', -12.5::decimal(6,2), '2000-01-02'::date, [1, null]::int[]";
  client.send(parse("", sql), message("B", text(""), text(""), formats), execute(""), sync);
  const heard = await client.until("Z");
  const { body } = heard.find(({ type }) => type === "D")!;
  const cells: string[] = [];
  for (let at = 2; at < body.length; ) {
    const length = body.readInt32BE(at);
    cells.push(body.subarray(at + 4, at + 4 + length).toString("hex"));
    at += 4 + length;
  }
  assert.deepEqual(cells, [
    "00000102",
    "3ff8000000000000",
    "c3a9",
    // Two digits to the base of 10,000, the first before the point, negative, two digits shown: 12 and 5000.
    "000200004000" + "0002" + "000c" + "1388",
    "00000001",
    // One dimension, with a NULL, of int4, two items from 1 on.
    `${"00000001".repeat(2)}00000017${"00000002"}00000001${"00000004"}00000001ffffffff`,
  ]);
});

test("parameters are taken in the binary format", async () => {
  const values = Buffer.concat([int16(1), int16(1), int16(1), int32(4), int32(41), int16(0)]);
  client.send(parse("", "select $1 + 1", 23), message("B", text(""), text(""), values), execute(""), sync);
  assert.deepEqual(firstColumn(await client.until("Z")), ["42"]);
});

test("literals that are asked for again bring the same bytes, with the state of the session", async () => {
  const asked = async (sql: string) => {
    client.send(query(sql));
    return client.until("Z");
  };
  for (const sql of ["select 1", "select 'ü' as \"ä\", true", "select 2; select 3"]) {
    const first = await asked(sql);
    for (let time = 0; time < 3; time++) assert.deepEqual(await asked(sql), first);
    assert.equal(statusOf(first), "I");
  }
  await asked("begin");
  assert.equal(statusOf(await asked("select 1")), "T");
  await asked("select nope");
  const refused = await asked("select 1");
  assert.equal(errorFields(refused[0]!)["C"], "25P02");
  await asked("rollback");
  assert.deepEqual(firstColumn(await asked("select 1")), ["1"]);
  // A simple query ends the unnamed statement, whether or not its answer was known.
  client.send(parse("", "select 5"), sync, query("select 1"), bind("", ""), sync);
  for (const types of ["1Z", "TDCZ", "EZ"]) assert.equal(typesOf(await client.until("Z")), types);
});

test("an empty query is answered as one", async () => {
  client.send(query(" ; "), parse("", ""), bind("", ""), execute(""), sync);
  assert.equal(typesOf(await client.until("Z")), "IZ");
  assert.equal(typesOf(await client.until("Z")), "12IZ");
});

for (const [what, parts, code] of [
  ["too few parameters", [parse("", "select $1::int"), bind("", "")], "08P01"],
  ["two statements in one", [parse("", "select 1; select 2")], "42601"],
  ["a name that is taken", [parse("n", "select 1"), parse("n", "select 1")], "42P05"],
  ["a portal that is taken", [parse("", "select 1"), bind("c", ""), bind("c", "")], "42P03"],
  ["a statement that is not there", [bind("", "missing")], "26000"],
  ["a portal that is not there", [execute("missing")], "34000"],
  ["a message that is cut short", [message("B", text("a"))], "08P01"],
  ["bytes after a message's end", [message("S", Buffer.from("x"))], "08P01"],
  ["text that is not UTF-8", [message("P", Buffer.from([0xff, 0, 0]), int16(0))], "22021"],
  ["a call by message", [message("F", int32(1))], "0A000"],
] as const) {
  test(`${what} is refused with ${code}, and the session goes on`, async () => {
    client.send(...parts, sync);
    const heard = await client.until("Z");
    const error = heard.find(({ type }) => type === "E");
    assert.ok(error !== undefined, typesOf(heard));
    assert.equal(errorFields(error)["C"], code);
    client.send(query("deallocate all; select 1"));
    assert.deepEqual(firstColumn(await client.until("Z")), ["1"]);
  });
}

test("statements and portals of a session have their limits", async () => {
  const raw = await RawPostgres.signedIn(server.postgres, "shop");
  raw.send(query("begin"));
  await raw.until("Z");
  raw.send(parse("s", "select * from range(100000) t(i)"));
  for (let i = 0; i < 9; i++) raw.send(bind(`p${i}`, "s"), execute(`p${i}`, 1));
  raw.send(sync);
  const heard = await raw.until("Z");
  assert.equal(errorFields(heard.at(-2)!)["C"], "53000");
  raw.send(query("rollback; select 1"));
  assert.deepEqual(firstColumn(await raw.until("Z")), ["1"]);
  raw.socket.destroy();
});

test("a newer protocol is talked down, and what it adds is named", async () => {
  const raw = new RawPostgres(server.postgres);
  raw.send(startup({ user: "u", database: "shop", "_pq_.more": "1" }, (3 << 16) | 2));
  const heard = await raw.until("Z");
  assert.equal(heard[0]!.type, "v");
  assert.ok(heard[0]!.body.toString().includes("_pq_.more"));
  raw.socket.destroy();
});
