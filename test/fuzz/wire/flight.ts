import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { formatTicket } from "../../../src/edge/flight/ticket.ts";
import {
  ActionSchema,
  FlightDescriptor_DescriptorType as DescriptorType,
  FlightDataSchema,
  FlightDescriptorSchema,
  TicketSchema,
} from "../../../src/gen/arrow/flight/protocol/Flight_pb.ts";
import * as sql from "../../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import type { Dice } from "../../sim/dice.ts";
import { messagesOf, packed } from "../../wire/flight/client.ts";
import { mutate } from "../mutate.ts";
import { enveloped, type RpcCall, rpcTarget } from "./rpc-calls.ts";

const query = "select name, qty from items where _id > 3 limit 2";

const commands: readonly Uint8Array[] = [
  packed(sql.CommandStatementQuerySchema, { query }),
  packed(sql.CommandGetCatalogsSchema, {}),
  packed(sql.CommandGetDbSchemasSchema, { catalog: "fuzz", dbSchemaFilterPattern: "col%" }),
  packed(sql.CommandGetTablesSchema, { tableNameFilterPattern: "it_ms", includeSchema: true, tableTypes: ["TABLE"] }),
  packed(sql.CommandGetTableTypesSchema, {}),
  packed(sql.CommandGetSqlInfoSchema, { info: [0, 1, 99_999] }),
  packed(sql.CommandGetPrimaryKeysSchema, { table: "items" }),
  packed(sql.CommandPreparedStatementQuerySchema, { preparedStatementHandle: Buffer.from("nothing") }),
  packed(sql.CommandStatementUpdateSchema, { query: "delete from items" }),
];

const tickets: readonly Uint8Array[] = [
  formatTicket({ kind: "statement", id: "1", namespace: "fuzz", query, token: [] }),
  formatTicket({ kind: "prepared", id: "1", handle: "h", token: [] }),
  packed(sql.CommandGetTablesSchema, {}),
];

const actions: readonly (readonly [string, Uint8Array])[] = [
  ["CreatePreparedStatement", packed(sql.ActionCreatePreparedStatementRequestSchema, { query })],
  [
    "ClosePreparedStatement",
    packed(sql.ActionClosePreparedStatementRequestSchema, { preparedStatementHandle: Buffer.from("x") }),
  ],
  ["CancelFlightInfo", new Uint8Array([1, 2, 3])],
  ["", new Uint8Array()],
];

const parameters = messagesOf(tableToIPC(tableFromArrays({ a: Int32Array.from([1, 2]) }), "stream"));

function changed(bytes: Uint8Array, dice: Dice): Uint8Array<ArrayBuffer> {
  const given = Buffer.from(bytes);
  const made = dice.chance(0.6)
    ? given
    : mutate(given, Buffer.from(dice.pick(commands)), ["fuzz", "items", "%", "type.googleapis.com/"], 20_000, dice);
  return Uint8Array.from(made);
}

function binary<S extends DescMessage>(schema: S, init: Parameters<typeof create<S>>[1], dice: Dice): Buffer {
  return enveloped(changed(toBinary(schema, create(schema, init)), dice), dice);
}

function descriptorOf(dice: Dice) {
  const type = dice.chance(0.95) ? DescriptorType.CMD : dice.pick([DescriptorType.PATH, DescriptorType.UNKNOWN]);
  return { type, cmd: changed(dice.pick(commands), dice), path: dice.chance(0.05) ? ["a", "b"] : [] };
}

function make(dice: Dice): RpcCall {
  const made: readonly (() => readonly [string, Buffer])[] = [
    () => ["GetFlightInfo", binary(FlightDescriptorSchema, descriptorOf(dice), dice)],
    () => ["GetSchema", binary(FlightDescriptorSchema, descriptorOf(dice), dice)],
    () => ["DoGet", binary(TicketSchema, { ticket: changed(dice.pick(tickets), dice) }, dice)],
    () => {
      const [type, body] = dice.pick(actions);
      return ["DoAction", binary(ActionSchema, { type, body: changed(body, dice) }, dice)];
    },
    () => [
      "DoPut",
      Buffer.concat(
        parameters.map(({ metadata, body }, i) =>
          binary(
            FlightDataSchema,
            {
              dataHeader: changed(metadata, dice),
              dataBody: changed(body, dice),
              ...(i === 0 ? { flightDescriptor: create(FlightDescriptorSchema, descriptorOf(dice)) } : {}),
            },
            dice,
          ),
        ),
      ),
    ],
    () => [
      dice.pick(["ListFlights", "ListActions", "PollFlightInfo", "DoExchange", "Handshake"]),
      enveloped(new Uint8Array(), dice),
    ],
  ];
  const [name, body] = dice.pick(made)();
  const namespace = dice.chance(0.9) ? { namespace: "fuzz" } : { database: dice.pick(["nowhere", "", "fuzz"]) };
  return {
    path: `/arrow.flight.protocol.FlightService/${name}`,
    method: "POST",
    headers: { "content-type": "application/grpc", te: "trailers", ...namespace },
    body: body.toString("base64"),
  };
}

/** Descriptors, tickets, actions and Arrow messages of Flight SQL with something wrong in them. */
export const flight = rpcTarget("flight", make);
