import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { Client, compressionAlgorithms, credentials, Metadata } from "@grpc/grpc-js";
import {
  type DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  List,
  Table,
  tableFromIPC,
  tableToIPC,
  Uint64,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import * as flight from "../../../src/gen/arrow/flight/protocol/Flight_pb.ts";
import * as sql from "../../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";
import { descriptor, FlightTestClient, json, messagesOf, packed } from "./client.ts";

/** Flight SQL over the whole server, with what it stores. */

let server: ServerProcess;
let client: FlightTestClient;
let port: number;

before(async () => {
  server = await ServerProcess.start();
  port = Number(new URL(server.url).port);
  client = new FlightTestClient(server.url, { namespace: "shop" });
  const base = `${server.url}/v1/namespaces`;
  await ask(base, { method: "POST", body: { name: "shop" } });
  const schema = {
    fields: [
      { name: "title", kind: "text" },
      { name: "tag", kind: "keyword", fast: true },
      { name: "price", kind: "f64" },
      { name: "at", kind: "date" },
    ],
    vectors: [{ name: "v", dim: 3, distance: "cosine" }],
    sparse_vectors: [],
    dynamic: "ignore",
    max_fields: 100,
  };
  const made = await ask(`${base}/shop/collections`, { method: "POST", body: { name: "docs", schema } });
  assert.equal(made.status, 200);
  await write(1, { title: "red shoe", tag: "a", price: 1.5, at: "2024-02-29T00:00:00Z" }, { v: [1, 0, 0] });
  await write(2, { title: "blue hat", tag: "b" }, {});
  await ask(`${base}/shop/streams`, { method: "POST", body: { name: "events", partitions: 1 } });
});
after(async () => await server[Symbol.asyncDispose]());

async function write(id: number, source: object, vectors: object): Promise<string> {
  const { status, headers } = await ask(`${server.url}/v1/namespaces/shop/collections/docs/documents`, {
    method: "POST",
    body: { ops: [{ upsert: { id, source, vectors } }] },
  });
  assert.equal(status, 200);
  return headers.get("service-consistency-token") ?? "[]";
}

test("documents as Arrow has them", async () => {
  const table = await client.query('select _id, title, tag, price, "at", v from docs where _id < 3 order by _id');
  assert.deepEqual(
    table.schema.fields.map((field) => `${field.name} ${field.type}`),
    [
      "_id Int64",
      "title Utf8",
      "tag Utf8",
      "price Float64",
      "at Timestamp<MICROSECOND, UTC>",
      "v FixedSizeList[3]<Float32>",
    ],
  );
  assert.deepEqual(json(table), [
    { _id: 1, title: "red shoe", tag: "a", price: 1.5, at: Date.UTC(2024, 1, 29), v: [1, 0, 0] },
    { _id: 2, title: "blue hat", tag: "b", price: null, at: null, v: null },
  ]);
});

test("instants are told without their zone to those who ask so", async () => {
  const headers = { namespace: "shop", timestamps: "local" };
  const table = await client.query('select "at" from docs where _id = 1', { headers });
  assert.equal(String(table.schema.fields[0]!.type), "Timestamp<MICROSECOND>");
  assert.deepEqual(json(table), [{ at: Date.UTC(2024, 1, 29) }]);
  const wrong = client.query("select 1", { headers: { namespace: "shop", timestamps: "mine" } });
  await assert.rejects(wrong, /timestamps: must be utc or local/);
});

test("a read sees what was written before it, by a token too", async () => {
  const token = await write(10, { title: "new", tag: "fresh" }, {});
  let reflected = "";
  const table = await client.query("select count(*) as n from docs where tag = 'fresh'", {
    headers: { namespace: "shop", "service-consistency-token": token },
    onHeader: (headers) => {
      reflected = headers.get("service-consistency-token") ?? "";
    },
  });
  assert.deepEqual(json(table), [{ n: 1 }]);
  assert.match(reflected, /^\[\{"stream":\d+,"partition":0,"offset":\d+\}/);
});

test("a prepared statement takes parameters of Arrow", async () => {
  const { preparedStatementHandle, parameterSchema } = await client.prepare(
    "select title from docs where tag = ? and _id < ?",
  );
  assert.equal(tableFromIPC(parameterSchema).schema.fields.length, 2);
  const command = packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle });
  const run = async (tag: string, below: bigint) => {
    const parameters = new Table({ a: vectorFromArray([tag], new Utf8()), b: vectorFromArray([below], new Int64()) });
    await client.put(command, messagesOf(tableToIPC(parameters, "stream")));
    return json(await client.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle }));
  };
  assert.deepEqual(await run("a", 3n), [{ title: "red shoe" }]);
  assert.deepEqual(await run("b", 3n), [{ title: "blue hat" }]);
  assert.deepEqual(await run("b", 1n), []);
});

test("vectors can be parameters", async () => {
  const { preparedStatementHandle } = await client.prepare(
    "select array_inner_product(v, ?::float[3]) as p from docs where _id = 1",
  );
  const type = new FixedSizeList(3, new Field("item", new Float32()));
  const parameters = new Table({ a: vectorFromArray([[2, 3, 4]], type) });
  const command = packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle });
  await client.put(command, messagesOf(tableToIPC(parameters, "stream")));
  assert.deepEqual(json(await client.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle })), [
    { p: 2 },
  ]);
});

test("the items of a list have the type that was sent", async () => {
  const listOf = (items: readonly unknown[], type: DataType) =>
    new Table({ a: vectorFromArray([items], new List(new Field("item", type))) });
  for (const [query, parameters, want] of [
    ["select typeof($1) as t, $1[1] as x", listOf([1, 2], new Float64()), { t: "DOUBLE[]", x: 1 }],
    [
      "select typeof($1) as t, list_max($1)::int as x",
      listOf([Uint32Array.of(900, 0, 0, 0), Uint32Array.of(1000, 0, 0, 0)], new Decimal(2, 10)),
      { t: "DECIMAL(10,2)[]", x: 10 },
    ],
    [
      "select typeof($1) as t, $1[1] > $1[2] as x",
      listOf([86_400_000 * 11, 0], new DateDay()),
      { t: "DATE[]", x: true },
    ],
    ["select typeof($1) as t, len($1) as x", listOf([1n, 2n ** 63n], new Uint64()), { t: "UBIGINT[]", x: 2 }],
    ["select typeof($1) as t, $1[1] as x", listOf(["9", "10"], new Utf8()), { t: "VARCHAR[]", x: "9" }],
  ] as const) {
    const { preparedStatementHandle } = await client.prepare(query);
    const command = packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle });
    await client.put(command, messagesOf(tableToIPC(parameters, "stream")));
    const got = json(await client.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle }));
    assert.deepEqual(got, [want], query);
  }
});

test("what there is to query", async () => {
  const everywhere = new FlightTestClient(server.url);
  assert.deepEqual(json(await everywhere.get(sql.CommandGetCatalogsSchema, {})), [{ catalog_name: "shop" }]);
  const tables = json(await everywhere.get(sql.CommandGetTablesSchema, {})) as { table_name: string }[];
  assert.deepEqual(
    tables.map(({ table_name: name }) => name),
    ["docs", "events"],
  );
  assert.deepEqual(json(await everywhere.query("select count(*) as n from shop.streams.events")), [{ n: 0 }]);
  await assert.rejects(
    everywhere.query("select count(*) from docs"),
    (error: ConnectError) => error.code === Code.InvalidArgument && /header namespace/.test(error.message),
  );
});

for (const [query, message] of [
  ["insert into docs values (1)", /^query: /],
  ["select * from nothing", /^query: .*nothing/],
  ["selec", /^query: syntax/],
  ["select * from read_csv('/etc/passwd')", /^query: /],
] as const) {
  test(`refused: ${query}`, async () => {
    await assert.rejects(client.query(query), (error: ConnectError) => {
      assert.equal(error.code, Code.InvalidArgument);
      assert.match(error.rawMessage, message);
      return true;
    });
  });
}

test("grpc-js with compressed requests", async () => {
  const plain = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
  });
  const metadata = new Metadata();
  metadata.set("namespace", "shop");
  const message = create(
    flight.FlightDescriptorSchema,
    descriptor(sql.CommandStatementQuerySchema, { query: `select 1 -- ${"x".repeat(5_000)}` }),
  );
  const info = await new Promise<flight.FlightInfo>((resolve, reject) => {
    plain.makeUnaryRequest(
      "/arrow.flight.protocol.FlightService/GetFlightInfo",
      (each: flight.FlightDescriptor) => Buffer.from(toBinary(flight.FlightDescriptorSchema, each)),
      (bytes: Buffer) => fromBinary(flight.FlightInfoSchema, bytes),
      message,
      metadata,
      {},
      (error, reply) => (error === null && reply !== undefined ? resolve(reply) : reject(error)),
    );
  });
  plain.close();
  assert.deepEqual(json(await client.take(info.endpoint[0]!.ticket!.ticket)), [{ "1": 1 }]);
});

test("a message over the limit is refused, and the next call is answered", async () => {
  const big = { cmd: Buffer.alloc(17 * 1024 * 1024) };
  await assert.rejects(client.raw.getFlightInfo(big), (error: ConnectError) => error.code === Code.InvalidArgument);
  assert.deepEqual(json(await new FlightTestClient(server.url, { namespace: "shop" }).query("select 1 as a")), [
    { a: 1 },
  ]);
});

test("broken bytes after a greeting of HTTP/2 end that connection alone", async () => {
  const closed = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      socket.write(Buffer.alloc(512, 0x80 + i));
      return await new Promise<boolean>((resolve) => {
        socket.resume();
        socket.once("close", () => resolve(true));
      });
    }),
  );
  assert.ok(closed.every(Boolean));
  assert.deepEqual(json(await client.query("select 1 as a")), [{ a: 1 }]);
});
