import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import {
  type DataType,
  Field,
  Int64,
  List,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { Principal } from "../../../src/engine/auth/principal.ts";
import * as flight from "../../../src/gen/arrow/flight/protocol/Flight_pb.ts";
import * as sql from "../../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import { ErrorInfoSchema } from "../../../src/gen/service/errors/v1/errors_pb.ts";
import { bearerJson } from "../rpc/server.ts";
import { descriptor, FlightTestClient, messagesOf, packed, tableOf, unpacked } from "./client.ts";
import { rowsOfBatch, ScriptedSql, startFlight } from "./scripted.ts";

const shop = { namespace: "shop" };

async function setUp(headers: Record<string, string> = shop) {
  const engine = new ScriptedSql();
  engine.tablesOf["shop"] = [
    { schema: "streams", name: "events", columns: [{ name: "offset", type: { kind: "int64" } }] },
    {
      schema: "collections",
      name: "docs",
      columns: [
        { name: "_id", type: { kind: "int64" } },
        { name: "v", type: { kind: "list", item: { kind: "float32" }, size: 3 } },
      ],
    },
  ];
  const server = await startFlight(engine, ["shop", "lab"]);
  return {
    engine,
    server,
    client: new FlightTestClient(server.url, headers),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function refused(call: Promise<unknown>, code: Code, message: RegExp): Promise<void> {
  await assert.rejects(call, (error: ConnectError) => {
    assert.equal(Code[error.code], Code[code], error.message);
    assert.match(error.rawMessage, message);
    assert.notEqual(error.findDetails(ErrorInfoSchema)[0]?.reason, undefined);
    return true;
  });
}

const rowsOf = (table: Table) => table.toArray().map((row) => Object.values(row?.toJSON() ?? {}));

test("a statement: its schema first, then its rows, with the token that they reflect", async () => {
  await using it = await setUp();
  const { client, engine } = it;
  const info = await client.info(sql.CommandStatementQuerySchema, { query: "rows 5000" });
  assert.deepEqual(
    tableFromIPC(info.schema).schema.fields.map((field) => `${field.name} ${field.type}`),
    ["n Int64", "t Utf8"],
  );
  assert.equal(info.totalRecords, -1n);
  let token: string | null = null;
  const table = await client.query("rows 5000", {
    headers: {
      ...shop,
      "service-consistency-token": '[{"stream":1,"partition":0,"offset":9}]',
      consistency: "eventual",
    },
    onHeader: (headers) => {
      token = headers.get("service-consistency-token");
    },
  });
  assert.equal(table.numRows, 3 * rowsOfBatch);
  assert.equal(table.getChild("n")!.get(5999), 5999n);
  assert.equal(token, '[{"stream":7,"partition":0,"offset":41}]');
  const { token: asked, consistency, namespace } = engine.statements[0]!;
  assert.deepEqual(
    { asked, consistency, namespace },
    { asked: [{ stream: 1, partition: 0, offset: 9 }], consistency: "eventual", namespace: "shop" },
  );
  assert.equal(engine.disposed, 1);
});

test("a token given with the question goes with the ticket", async () => {
  await using it = await setUp();
  const { client, engine } = it;
  const token = '[{"stream":1,"partition":0,"offset":9}]';
  const info = await client.info(
    sql.CommandStatementQuerySchema,
    { query: "rows 1" },
    { headers: { ...shop, "service-consistency-token": token } },
  );
  await client.take(info.endpoint[0]!.ticket!.ticket);
  assert.deepEqual(engine.statements[0]!.token, [{ stream: 1, partition: 0, offset: 9 }]);
});

test("Connect and gRPC-Web get the same rows", async () => {
  await using it = await setUp();
  const { server, client } = it;
  const want = rowsOf(await client.query("rows 1"));
  const { endpoint } = await client.info(sql.CommandStatementQuerySchema, { query: "rows 1" });
  for (const transport of [
    createConnectTransport({ baseUrl: server.url, httpVersion: "2" }),
    createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }),
    createGrpcWebTransport({ baseUrl: server.url, httpVersion: "1.1" }),
  ]) {
    const all: flight.FlightData[] = [];
    for await (const data of createClient(flight.FlightService, transport).doGet(endpoint[0]!.ticket!, {
      headers: shop,
    }))
      all.push(data);
    assert.deepEqual(rowsOf(tableOf(all)), want);
  }
});

test("GetSchema and PollFlightInfo", async () => {
  await using it = await setUp();
  const { raw } = it.client;
  const { schema } = await raw.getSchema(descriptor(sql.CommandStatementQuerySchema, { query: "rows 1" }), {
    headers: shop,
  });
  assert.equal(tableFromIPC(schema).schema.fields.length, 2);
  const poll = await raw.pollFlightInfo(descriptor(sql.CommandGetCatalogsSchema, {}), { headers: shop });
  assert.equal(poll.flightDescriptor, undefined);
  assert.equal(poll.info!.endpoint.length, 1);
});

test("a prepared statement with parameters, row by row, until it is closed", async () => {
  await using it = await setUp();
  const { client, engine } = it;
  const { preparedStatementHandle: handle, parameterSchema, datasetSchema } = await client.prepare("rows ? 1");
  assert.equal(tableFromIPC(parameterSchema).schema.fields.length, 1);
  assert.equal(tableFromIPC(datasetSchema).schema.fields.length, 2);
  const command = packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle: handle });
  const parameters = new Table({
    a: vectorFromArray([5n, null], new Int64()),
    b: vectorFromArray(["x", "y"], new Utf8()),
  });
  const [result] = await client.put(command, messagesOf(tableToIPC(parameters, "stream")));
  assert.deepEqual(fromBinary(sql.DoPutPreparedStatementResultSchema, result!).preparedStatementHandle, handle);
  await client.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle: handle });
  assert.deepEqual(
    engine.statements.map(({ params }) => params.map(({ value }) => value)),
    [
      [5n, "x"],
      [null, "y"],
    ],
  );
  const close = packed(sql.ActionClosePreparedStatementRequestSchema, { preparedStatementHandle: handle });
  assert.deepEqual(await client.act("ClosePreparedStatement", close), []);
  await refused(
    client.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle: handle }),
    Code.NotFound,
    /prepare it again/,
  );
});

test("broken parameters are refused by name", async () => {
  await using it = await setUp();
  const { client } = it;
  const { preparedStatementHandle } = await client.prepare("rows ? 1");
  const command = packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle });
  const [schema, batch] = messagesOf(tableToIPC(new Table({ a: vectorFromArray([5n], new Int64()) }), "stream"));
  const junk = { metadata: Buffer.alloc(64, 0xee), body: Buffer.alloc(8) };
  await refused(client.put(command, [junk]), Code.InvalidArgument, /^parameters: a message can't be read/);
  await refused(client.put(command, [batch!]), Code.InvalidArgument, /^parameters: .*before its schema/);
  await refused(
    client.put(command, [schema!, { ...batch!, body: Buffer.alloc(0) }]),
    Code.InvalidArgument,
    /^parameters: a buffer lies outside/,
  );
  let deep: DataType = new Int64();
  for (let levels = 0; levels < 9; levels++) deep = new List(new Field("item", deep));
  const nested = messagesOf(tableToIPC(new Table({ a: vectorFromArray([null], deep) }), "stream"));
  await refused(client.put(command, nested), Code.InvalidArgument, /^parameters: types are nested more than 8 deep/);
  await refused(client.put(Buffer.from("junk"), []), Code.InvalidArgument, /^cmd: /);
  await refused(client.put(Buffer.alloc(0), []), Code.InvalidArgument, /^cmd: /);
});

test("what there is: catalogs, schemas, tables, types and keys", async () => {
  await using it = await setUp({});
  const { client } = it;
  const rows = async (...[schema, init]: Parameters<typeof client.get>) => rowsOf(await client.get(schema, init));
  assert.deepEqual(await rows(sql.CommandGetCatalogsSchema, {}), [["lab"], ["shop"]]);
  assert.deepEqual(await rows(sql.CommandGetDbSchemasSchema, { catalog: "shop", dbSchemaFilterPattern: "%s" }), [
    ["shop", "collections"],
    ["shop", "counters"],
    ["shop", "links"],
    ["shop", "streams"],
  ]);
  assert.deepEqual(await rows(sql.CommandGetTablesSchema, {}), [
    ["shop", "collections", "docs", "TABLE"],
    ["shop", "streams", "events", "TABLE"],
  ]);
  assert.deepEqual(
    await rows(sql.CommandGetTablesSchema, { tableNameFilterPattern: "e%", tableTypes: ["TABLE", "VIEW"] }),
    [["shop", "streams", "events", "TABLE"]],
  );
  assert.deepEqual(await rows(sql.CommandGetTablesSchema, { tableTypes: ["VIEW"] }), []);
  assert.deepEqual(await rows(sql.CommandGetTablesSchema, { catalog: "" }), []);
  const [withSchema] = await rows(sql.CommandGetTablesSchema, { includeSchema: true });
  const fields = tableFromIPC(withSchema![4] as Uint8Array).schema.fields.map((field) => `${field.name} ${field.type}`);
  assert.deepEqual(fields, ["_id Int64", "v FixedSizeList[3]<Float32>"]);
  assert.deepEqual(await rows(sql.CommandGetTableTypesSchema, {}), [["TABLE"]]);
  assert.deepEqual(await rows(sql.CommandGetPrimaryKeysSchema, { table: "docs" }), [
    ["shop", "collections", "docs", "_id", null, 1],
  ]);
  assert.deepEqual(await rows(sql.CommandGetPrimaryKeysSchema, { table: "events" }), []);
  assert.deepEqual(await rows(sql.CommandGetExportedKeysSchema, { table: "docs" }), []);
  assert.deepEqual(await rows(sql.CommandGetImportedKeysSchema, { table: "docs" }), []);
  assert.deepEqual(await rows(sql.CommandGetCrossReferenceSchema, { pkTable: "docs", fkTable: "docs" }), []);
  const types = await rows(sql.CommandGetXdbcTypeInfoSchema, { dataType: 12 });
  assert.deepEqual(
    types.map(([name]) => name),
    ["VARCHAR", "JSON", "UUID"],
  );
});

test("facts about the server, all and by number", async () => {
  await using it = await setUp();
  const facts = async (info: number[]) => rowsOf(await it.client.get(sql.CommandGetSqlInfoSchema, { info }));
  assert.deepEqual(await facts([0, 3, 8, 557, 999_999]), [
    [0, "native-engine"],
    [3, true],
    [8, 0],
    [557, 1_048_576n],
  ]);
  const all = await facts([]);
  assert.ok(all.length > 80);
  const keywords = all.find(([id]) => id === 508)![1] as { toArray(): unknown[] };
  assert.ok([...keywords.toArray()].includes("QUALIFY"));
});

test("the namespace comes from a header, its alias or the names of tables", async () => {
  await using it = await setUp({});
  const { engine, server } = it;
  const asked = async (headers: Record<string, string>, query: string) => {
    await new FlightTestClient(server.url, headers).query(query);
    return engine.statements.at(-1)!.namespace;
  };
  assert.equal(await asked({ database: "lab" }, "rows 1"), "lab");
  assert.equal(await asked({ namespace: "shop", database: "lab" }, "rows 1"), "shop");
  assert.equal(await asked({}, "rows 1 from shop.collections.docs"), "shop");
  assert.equal(await asked({}, "rows 1"), "lab");
  await refused(asked({}, "rows 1 from docs"), Code.InvalidArgument, /^namespace: send the call header/);
  await refused(asked({ namespace: "no/such" }, "rows 1"), Code.InvalidArgument, /^namespace: /);
});

test("a ticket of one namespace is of no use in another", async () => {
  const engine = new ScriptedSql();
  await using server = await startFlight(engine, ["shop", "lab"], { authenticator: bearerJson });
  const reader = (namespace?: string): Record<string, string> => {
    const principal = {
      id: namespace ?? "all",
      kind: "service_account",
      displayName: "r",
      method: "apikey",
      role: "reader",
    };
    return {
      authorization: `Bearer ${JSON.stringify(namespace === undefined ? principal : { ...principal, namespaces: [namespace] })}`,
    };
  };
  const everyone = new FlightTestClient(server.url, { ...reader(), namespace: "shop" });
  const { endpoint } = await everyone.info(sql.CommandStatementQuerySchema, { query: "rows 1" });
  const { ticket } = endpoint[0]!.ticket!;
  assert.equal((await everyone.take(ticket)).numRows, rowsOfBatch);
  const lab = new FlightTestClient(server.url, reader("lab"));
  await refused(lab.take(ticket), Code.PermissionDenied, /another namespace/);
  await refused(
    lab.query("rows 1", { headers: { ...reader("lab"), namespace: "shop" } }),
    Code.PermissionDenied,
    /another namespace/,
  );
  assert.deepEqual(rowsOf(await lab.get(sql.CommandGetCatalogsSchema, {})), [["lab"]]);
  const { preparedStatementHandle } = await everyone.prepare("rows 1");
  await refused(
    lab.get(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle }),
    Code.NotFound,
    /prepare it again/,
  );
  await refused(new FlightTestClient(server.url).query("rows 1"), Code.Unauthenticated, /credential/);
});

test("a handshake gives a bearer token for a password, in a header or in its message", async () => {
  const principal: Principal = { id: "k", kind: "service_account", displayName: "k", method: "apikey", role: "reader" };
  const password = JSON.stringify(principal);
  await using server = await startFlight(new ScriptedSql(), ["shop"], { authenticator: bearerJson });
  const { raw } = new FlightTestClient(server.url);
  const shake = async (headers: Record<string, string>, payloads: Uint8Array<ArrayBuffer>[]) => {
    let authorization: string | null = null;
    const answers: string[] = [];
    async function* requests() {
      for (const payload of payloads) yield { payload };
    }
    const onHeader = (given: Headers) => {
      authorization = given.get("authorization");
    };
    for await (const { payload } of raw.handshake(requests(), { headers, onHeader }))
      answers.push(Buffer.from(payload).toString());
    return { authorization, answers };
  };
  const basic = { authorization: `Basic ${btoa(`ada:${password}`)}` };
  const message = toBinary(flight.BasicAuthSchema, create(flight.BasicAuthSchema, { username: "ada", password }));
  const bearer = `Bearer ${password}`;
  assert.deepEqual(await shake(basic, [new Uint8Array(0)]), { authorization: bearer, answers: [password] });
  assert.deepEqual(await shake(basic, []), { authorization: bearer, answers: [] });
  assert.deepEqual(await shake({}, [message]), { authorization: bearer, answers: [password] });
  await refused(shake({}, []), Code.Unauthenticated, /credential/);
  await refused(shake({}, [new Uint8Array(0)]), Code.Unauthenticated, /credential/);
  const everyCall = new FlightTestClient(server.url, { ...basic, ...shop });
  assert.equal((await everyCall.query("rows 1")).numRows, rowsOfBatch);
});

test("with authentication off any handshake is accepted", async () => {
  await using it = await setUp();
  const answers: number[] = [];
  for await (const { payload } of it.client.raw.handshake(
    (async function* () {
      yield {};
    })(),
  ))
    answers.push(payload.byteLength);
  assert.equal(answers.length, 1);
});

test("writes, transactions and what is not there are refused clearly", async () => {
  await using it = await setUp();
  const { client } = it;
  await refused(
    client.info(sql.CommandStatementUpdateSchema, { query: "delete from docs" }),
    Code.InvalidArgument,
    /read-only/,
  );
  await refused(
    client.put(packed(sql.CommandStatementUpdateSchema, { query: "delete" }), []),
    Code.InvalidArgument,
    /read-only/,
  );
  await refused(
    client.put(packed(sql.CommandGetCatalogsSchema, {}), []),
    Code.Unimplemented,
    /parameters of a prepared/,
  );
  await refused(client.act("BeginTransaction", new Uint8Array(0)), Code.Unimplemented, /no transactions/);
  await refused(client.act("Whatever", new Uint8Array(0)), Code.Unimplemented, /no action "Whatever"/);
  const inTransaction = { query: "rows 1", transactionId: Uint8Array.of(1) };
  await refused(client.info(sql.CommandStatementQuerySchema, inTransaction), Code.Unimplemented, /no transactions/);
  await refused(client.info(sql.CommandStatementQuerySchema, { query: "bad" }), Code.InvalidArgument, /^query: syntax/);
  await refused(
    client.info(sql.CommandStatementQuerySchema, { query: "x".repeat(2 ** 21) }),
    Code.InvalidArgument,
    /^query: has more/,
  );
  await refused(client.info(sql.TicketStatementQuerySchema, {}), Code.InvalidArgument, /is a ticket/);
  await refused(client.raw.getFlightInfo({}, { headers: shop }), Code.InvalidArgument, /^cmd: /);
  await refused(
    client.raw.getFlightInfo({ cmd: Buffer.from("junk") }, { headers: shop }),
    Code.InvalidArgument,
    /^cmd: /,
  );
  await refused(client.take(Buffer.from([0xff, 0xff])), Code.InvalidArgument, /^ticket: /);
  await refused(
    client.take(packed(sql.TicketStatementQuerySchema, { statementHandle: Buffer.from("{}") })),
    Code.InvalidArgument,
    /^ticket: /,
  );
  const exchange = async () => {
    for await (const _ of client.raw.doExchange((async function* () {})(), { headers: shop }));
  };
  await refused(exchange(), Code.Unimplemented, /DoExchange/);
  const flights: unknown[] = [];
  for await (const each of client.raw.listFlights({}, { headers: shop })) flights.push(each);
  assert.deepEqual(flights, []);
  const actions: string[] = [];
  for await (const { type } of client.raw.listActions({}, { headers: shop })) actions.push(type);
  assert.ok(actions.includes("CreatePreparedStatement"));
  const [closed] = await client.act("CloseSession", new Uint8Array(0));
  assert.equal(fromBinary(flight.CloseSessionResultSchema, closed!).status, flight.CloseSessionResult_Status.CLOSED);
});

test("a statement that fails on its way ends with its error", async () => {
  await using it = await setUp();
  await refused(it.client.query("fail after 2"), Code.ResourceExhausted, /memory limit/);
  assert.equal(it.engine.disposed, 1);
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test("a caller that leaves stops its statement", async () => {
  await using it = await setUp();
  const { client, engine } = it;
  const stop = new AbortController();
  const call = client.query("wait", { headers: shop, signal: stop.signal });
  await until(() => engine.taken === 1);
  stop.abort();
  await assert.rejects(call, (error: ConnectError) => error.code === Code.Canceled);
  await until(() => engine.disposed === 1);
});

for (const type of ["CancelQuery", "CancelFlightInfo"] as const) {
  test(`${type} stops a statement from another call`, async () => {
    await using it = await setUp();
    const { client, engine } = it;
    const info = await client.info(sql.CommandStatementQuerySchema, { query: "wait" });
    const cancel = async () => {
      if (type === "CancelQuery") {
        const body = packed(sql.ActionCancelQueryRequestSchema, { info: toBinary(flight.FlightInfoSchema, info) });
        return unpacked(sql.ActionCancelQueryResultSchema, (await client.act(type, body))[0]!).result;
      }
      const body = toBinary(
        flight.CancelFlightInfoRequestSchema,
        create(flight.CancelFlightInfoRequestSchema, { info }),
      );
      return fromBinary(flight.CancelFlightInfoResultSchema, (await client.act(type, body))[0]!).status;
    };
    assert.equal(await cancel(), flight.CancelStatus.NOT_CANCELLABLE);
    const call = client.take(info.endpoint[0]!.ticket!.ticket);
    const failed = refused(call, Code.Aborted, /was cancelled/);
    await until(() => engine.taken === 1);
    assert.equal(await cancel(), flight.CancelStatus.CANCELLED);
    await failed;
    assert.equal(engine.disposed, 1);
  });
}

test("a reader that does not read holds its statement up, and nothing else", async () => {
  await using it = await setUp();
  const { client, engine } = it;
  const { endpoint } = await client.info(sql.CommandStatementQuerySchema, { query: "rows 10000000" });
  // On a connection of its own, whose window it fills.
  const idle = new FlightTestClient(it.server.url);
  const stop = new AbortController();
  const options = { headers: shop, signal: stop.signal };
  const reply = idle.raw.doGet(endpoint[0]!.ticket!, options)[Symbol.asyncIterator]();
  await reply.next();
  let before = -1;
  // No more batches are taken once those that fit into the windows and buffers are.
  for (let still = 0; still < 50; still = engine.taken === before ? still + 1 : 0) {
    before = engine.taken;
    await client.info(sql.CommandGetCatalogsSchema, {});
  }
  assert.ok(engine.taken < 1_000, `${engine.taken} of 4883 batches`);
  stop.abort();
  await until(() => engine.disposed === 1);
});
