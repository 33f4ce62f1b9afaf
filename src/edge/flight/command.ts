import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { EngineError, invalid } from "../../engine/errors.ts";
import * as sql from "../../gen/arrow/flight/protocol/FlightSql_pb.ts";
import { flightLimits } from "./limits.ts";

/** What a descriptor or a ticket asks for. */
const commands = [
  sql.CommandStatementQuerySchema,
  sql.CommandPreparedStatementQuerySchema,
  sql.CommandGetCatalogsSchema,
  sql.CommandGetDbSchemasSchema,
  sql.CommandGetTablesSchema,
  sql.CommandGetTableTypesSchema,
  sql.CommandGetSqlInfoSchema,
  sql.CommandGetXdbcTypeInfoSchema,
  sql.CommandGetPrimaryKeysSchema,
  sql.CommandGetExportedKeysSchema,
  sql.CommandGetImportedKeysSchema,
  sql.CommandGetCrossReferenceSchema,
  sql.TicketStatementQuerySchema,
] as const;

export type Command = MessageShape<(typeof commands)[number]>;

const writes: ReadonlySet<string> = new Set(
  ["CommandStatementUpdate", "CommandPreparedStatementUpdate", "CommandStatementIngest"].map(
    (name) => `arrow.flight.protocol.sql.${name}`,
  ),
);

export function readOnly(field: string): EngineError {
  return invalid(field, "SQL is read-only here: send SELECT, WITH, EXPLAIN, DESCRIBE or SHOW as a query");
}

export function unimplemented(message: string): EngineError {
  return new EngineError("not_implemented", message);
}

/** The command in a descriptor or ticket. */
export function parseCommand(field: string, bytes: Uint8Array): Command {
  const any = parseAny(field, bytes);
  const name = typeName(any);
  if (writes.has(name)) throw readOnly(field);
  const schema = commands.find((each) => each.typeName === name);
  if (schema === undefined) throw unimplemented(`${field}: no command ${name.slice(0, 200) || "is named"}`);
  return unpack(field, any, schema);
}

/** The message in the body of an action. */
export function parseBody<S extends DescMessage>(field: string, bytes: Uint8Array, schema: S): MessageShape<S> {
  return unpack(field, parseAny(field, bytes), schema);
}

/** A message that is not wrapped. */
export function parsePlain<S extends DescMessage>(field: string, bytes: Uint8Array, schema: S): MessageShape<S> {
  try {
    return fromBinary(schema, bytes);
  } catch {
    throw invalid(field, `is no ${schema.typeName}`);
  }
}

export { anyPack };

function parseAny(field: string, bytes: Uint8Array): Any {
  return parsePlain(field, bytes, AnySchema);
}

export function typeName({ typeUrl }: Any): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}

function unpack<S extends DescMessage>(field: string, any: Any, schema: S): MessageShape<S> {
  try {
    const message = anyUnpack(any, schema);
    if (message !== undefined) return message;
  } catch {
    // Told below.
  }
  throw invalid(field, `is no ${schema.typeName}`);
}

export function checkQuery(query: string, transactionId: Uint8Array | undefined): void {
  if (query.length > flightLimits.queryCharactersMax) {
    throw invalid("query", `has more than ${flightLimits.queryCharactersMax} characters`);
  }
  if (transactionId !== undefined && transactionId.byteLength > 0) {
    throw unimplemented("transaction_id: there are no transactions");
  }
}

/** The handle of a prepared statement, as its table knows it. */
export function handleOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 64)).toString("latin1");
}
