import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { EngineError } from "../../engine/errors.ts";
import {
  CancelFlightInfoRequestSchema,
  CancelFlightInfoResultSchema,
  CancelStatus,
  CloseSessionResultSchema,
  type FlightInfo,
  FlightInfoSchema,
  CloseSessionResult_Status as SessionStatus,
} from "../../gen/arrow/flight/protocol/Flight_pb.ts";
import {
  ActionCancelQueryRequestSchema,
  ActionCancelQueryResultSchema,
  ActionClosePreparedStatementRequestSchema,
  ActionCreatePreparedStatementRequestSchema,
  ActionCreatePreparedStatementResultSchema,
  ActionCancelQueryResult_CancelResult as CancelResult,
} from "../../gen/arrow/flight/protocol/FlightSql_pb.ts";
import { encapsulated, schemaMessage } from "./arrow/schema.ts";
import { arrowField, fieldOf } from "./arrow/type.ts";
import { type FlightCall, namespaceOf } from "./call.ts";
import { anyPack, checkQuery, handleOf, parseBody, parseCommand, parsePlain, unimplemented } from "./command.ts";
import { sqlFor } from "./local-times.ts";
import type { FlightDeps } from "./options.ts";
import { parseTicket } from "./ticket.ts";

export const actionTypes = [
  { type: "CreatePreparedStatement", description: "Prepares a statement and tells what it takes and gives." },
  { type: "ClosePreparedStatement", description: "Forgets a prepared statement." },
  { type: "CancelQuery", description: "Stops a statement whose rows are being sent, by its FlightInfo." },
  { type: "CancelFlightInfo", description: "Stops a statement whose rows are being sent, by its FlightInfo." },
  { type: "CloseSession", description: "Always done: calls stand alone." },
];

/** The body of the answer, where there is one. */
export async function runAction(
  deps: FlightDeps,
  call: FlightCall,
  type: string,
  body: Uint8Array,
): Promise<Uint8Array | undefined> {
  switch (type) {
    case "CreatePreparedStatement":
      return await prepare(deps, call, body);
    case "ClosePreparedStatement": {
      const { preparedStatementHandle } = parseBody("body", body, ActionClosePreparedStatementRequestSchema);
      deps.prepared.close(call.principal.id, handleOf(preparedStatementHandle));
      return undefined;
    }
    case "CancelQuery": {
      const { info } = parseBody("body", body, ActionCancelQueryRequestSchema);
      const stopped = cancel(deps, call, parsePlain("body.info", info, FlightInfoSchema));
      const result = stopped ? CancelResult.CANCELLED : CancelResult.NOT_CANCELLABLE;
      return packed(ActionCancelQueryResultSchema, create(ActionCancelQueryResultSchema, { result }));
    }
    case "CancelFlightInfo": {
      const { info } = parsePlain("body", body, CancelFlightInfoRequestSchema);
      const stopped = info !== undefined && cancel(deps, call, info);
      const status = stopped ? CancelStatus.CANCELLED : CancelStatus.NOT_CANCELLABLE;
      return toBinary(CancelFlightInfoResultSchema, create(CancelFlightInfoResultSchema, { status }));
    }
    case "CloseSession": {
      // Calls stand alone, so there is nothing to close.
      const closed = create(CloseSessionResultSchema, { status: SessionStatus.CLOSED });
      return toBinary(CloseSessionResultSchema, closed);
    }
    case "BeginTransaction":
    case "BeginSavepoint":
    case "EndTransaction":
    case "EndSavepoint":
      throw unimplemented(`${type}: there are no transactions; every statement reads what was written before it began`);
    case "CreatePreparedSubstraitPlan":
      throw unimplemented("Substrait plans are not supported: send SQL");
    default:
      throw unimplemented(`no action ${JSON.stringify(type.slice(0, 200))}`);
  }
}

async function prepare(deps: FlightDeps, call: FlightCall, body: Uint8Array): Promise<Uint8Array> {
  const { query, transactionId } = parseBody("body", body, ActionCreatePreparedStatementRequestSchema);
  checkQuery(query, transactionId);
  const namespace = namespaceOf(call, query, deps.namespaces());
  const { columns, parameters } = await sqlFor(deps.sql, call).describe({ namespace, query, params: [] }, call.signal);
  const handle = deps.prepared.add(call.principal.id, namespace, query);
  // A parameter of a type that nothing tells is asked for as text, which the statement reads as what it needs.
  const parameterFields = parameters.map((type, i) =>
    type === undefined || type.kind === "null"
      ? arrowField(`parameter_${i + 1}`, { kind: "utf8" })
      : fieldOf({ name: `parameter_${i + 1}`, type }),
  );
  return packed(
    ActionCreatePreparedStatementResultSchema,
    create(ActionCreatePreparedStatementResultSchema, {
      preparedStatementHandle: Buffer.from(handle),
      datasetSchema: encapsulated(schemaMessage(columns.map(fieldOf))),
      parameterSchema: encapsulated(schemaMessage(parameterFields)),
    }),
  );
}

function cancel(deps: FlightDeps, call: FlightCall, info: FlightInfo): boolean {
  const reason = new EngineError("aborted", "the statement was cancelled");
  return info.endpoint
    .map(({ ticket }) => {
      const command = parseCommand("ticket", ticket?.ticket ?? new Uint8Array(0));
      // Nothing else runs for long.
      if (command.$typeName !== "arrow.flight.protocol.sql.TicketStatementQuery") return false;
      return deps.running.cancel(call.principal.id, parseTicket(command.statementHandle).id, reason);
    })
    .includes(true);
}

type Packable = Parameters<typeof anyPack>[0];

function packed<S extends Packable>(schema: S, message: Parameters<typeof anyPack<S>>[1]): Uint8Array {
  return toBinary(AnySchema, anyPack(schema, message));
}
