import { create, toBinary } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { EngineError, invalid } from "../../engine/errors.ts";
import { mergeTokens } from "../../engine/token.ts";
import {
  type FlightData,
  type FlightDescriptor,
  type FlightInfo,
  FlightService,
} from "../../gen/arrow/flight/protocol/Flight_pb.ts";
import { DoPutPreparedStatementResultSchema } from "../../gen/arrow/flight/protocol/FlightSql_pb.ts";
import { actionTypes, runAction } from "./action.ts";
import { answerCatalog, catalogSchema } from "./answer.ts";
import type { ArrowMessage } from "./arrow/batch.ts";
import { encapsulated, schemaMessage } from "./arrow/schema.ts";
import { type ArrowField, fieldOf } from "./arrow/type.ts";
import { type FlightCall, namespaceOf, readCall, sendToken, ticketNamespace } from "./call.ts";
import { type Command, checkQuery, handleOf, parseCommand, unimplemented } from "./command.ts";
import { bearerOf, bearerOfPayload } from "./credential.ts";
import { laneKey, withLane } from "./lane.ts";
import { flightLimits } from "./limits.ts";
import { sqlFor } from "./local-times.ts";
import type { FlightDeps, FlightOptions } from "./options.ts";
import { ParameterReader } from "./parameters.ts";
import { PreparedStatements } from "./prepared.ts";
import { RunningStatements, statementMessages } from "./statement.ts";
import { formatTicket, parseTicket } from "./ticket.ts";

/** Flight SQL, as one of the services of the RPC edge. */
export function flightService({ clock, keptBytes, ...options }: FlightOptions) {
  const deps: FlightDeps = {
    ...options,
    prepared: new PreparedStatements(clock, options.random, flightLimits, keptBytes.account()),
    running: new RunningStatements(),
  };
  return {
    descriptor: FlightService,
    authorization: bearerOf,
    around: (handler: UniversalHandler) => (handler.method.name === "DoGet" ? withLane(handler) : handler),
    addTo(router: ConnectRouter): void {
      router.service(FlightService, implementation(deps), {
        readMaxBytes: flightLimits.readBytesMax,
        writeMaxBytes: flightLimits.writeBytesMax,
        // Column data is many bytes, and compressing them costs more than loopback and most networks do.
        compressMinBytes: flightLimits.writeBytesMax,
      });
    },
  };
}

const noFlights: readonly FlightInfo[] = [];

function implementation(deps: FlightDeps): ServiceImpl<typeof FlightService> {
  const call = (context: HandlerContext): FlightCall => {
    const principal = deps.principalOf(context.values);
    if (principal === undefined) throw new Error("a call without its principal");
    return readCall(context, principal);
  };
  return {
    handshake: (requests, context) => handshake(deps, requests, context),
    async *listFlights(_request, context) {
      call(context);
      yield* noFlights;
    },
    async getFlightInfo(descriptor, context) {
      return await flightInfo(deps, call(context), descriptor);
    },
    async pollFlightInfo(descriptor, context) {
      return { info: await flightInfo(deps, call(context), descriptor), progress: 1 };
    },
    async getSchema(descriptor, context) {
      const { fields } = await describe(deps, call(context), descriptor);
      return { schema: encoded(fields) };
    },
    async *doGet({ ticket }, context) {
      const lane = context.values.get(laneKey);
      for await (const message of messagesOf(deps, call(context), ticket, context)) {
        checkSize(message);
        lane?.messages.push(message);
        yield lane === undefined ? dataOf(message) : inLane;
      }
    },
    doPut: (requests, context) => doPut(deps, call(context), requests),
    doExchange(_requests, context) {
      call(context);
      throw unimplemented("DoExchange is not supported: use GetFlightInfo and DoGet");
    },
    async *doAction({ type, body }, context) {
      const answer = await runAction(deps, call(context), type, body);
      if (answer !== undefined) yield { body: answer };
    },
    async *listActions(_request, context) {
      call(context);
      yield* actionTypes;
    },
  };
}

async function* handshake(
  deps: FlightDeps,
  requests: AsyncIterable<{ readonly payload: Uint8Array }>,
  context: HandlerContext,
): AsyncGenerator<{ payload: Uint8Array }> {
  const { signal, requestHeader, responseHeader, values } = context;
  const bearer = bearerOf(requestHeader.get("authorization") ?? undefined);
  const signIn = async (authorization: string | undefined): Promise<void> => {
    const { remoteAddress, remotePort } = deps.peerOf(values);
    await deps.authenticate({ remoteAddress, remotePort, authorization, signal });
    // With authentication off there may be no credential at all, and any is as good.
    responseHeader.set("authorization", authorization ?? "Bearer none");
  };
  if (bearer !== undefined) await signIn(bearer);
  for await (const { payload } of requests) {
    const authorization = bearer ?? bearerOfPayload(payload);
    if (bearer === undefined) await signIn(authorization);
    yield { payload: Buffer.from((authorization ?? "Bearer none").slice("Bearer ".length)) };
    return;
  }
  if (bearer === undefined) await signIn(undefined);
}

function commandOf(descriptor: FlightDescriptor | undefined): Command {
  const cmd = descriptor?.cmd;
  if (cmd === undefined || cmd.byteLength === 0) throw invalid("cmd", "must hold a command of Flight SQL");
  return parseCommand("cmd", cmd);
}

function encoded(fields: readonly ArrowField[]): Uint8Array {
  return encapsulated(schemaMessage(fields));
}

/** What a command gives, and the ticket for it. */
async function describe(
  deps: FlightDeps,
  call: FlightCall,
  descriptor: FlightDescriptor,
): Promise<{ readonly fields: readonly ArrowField[]; readonly ticket?: Uint8Array }> {
  const command = commandOf(descriptor);
  const id = Buffer.from(deps.random.bytes(16)).toString("hex");
  const { signal, token } = call;
  switch (command.$typeName) {
    case "arrow.flight.protocol.sql.CommandStatementQuery": {
      const { query, transactionId } = command;
      checkQuery(query, transactionId);
      const namespace = namespaceOf(call, query, deps.namespaces());
      const { columns } = await sqlFor(deps.sql, call).describe({ namespace, query, params: [] }, signal);
      return { fields: columns.map(fieldOf), ticket: formatTicket({ kind: "statement", id, namespace, query, token }) };
    }
    case "arrow.flight.protocol.sql.CommandPreparedStatementQuery": {
      const handle = handleOf(command.preparedStatementHandle);
      const { namespace, query, rows } = deps.prepared.get(call.principal.id, handle);
      const { columns } = await sqlFor(deps.sql, call).describe({ namespace, query, params: rows[0] ?? [] }, signal);
      return { fields: columns.map(fieldOf), ticket: formatTicket({ kind: "prepared", id, handle, token }) };
    }
    case "arrow.flight.protocol.sql.TicketStatementQuery":
      throw invalid("cmd", "is a ticket: use it with DoGet");
    default:
      return { fields: catalogSchema(command) };
  }
}

async function flightInfo(deps: FlightDeps, call: FlightCall, flightDescriptor: FlightDescriptor) {
  const { fields, ticket } = await describe(deps, call, flightDescriptor);
  return {
    schema: encoded(fields),
    flightDescriptor,
    // What is not a statement is its own ticket.
    endpoint: [{ ticket: { ticket: ticket ?? flightDescriptor.cmd } }],
    totalRecords: -1n,
    totalBytes: -1n,
    ordered: true,
  };
}

async function* messagesOf(
  deps: FlightDeps,
  call: FlightCall,
  ticket: Uint8Array,
  context: HandlerContext,
): AsyncGenerator<ArrowMessage> {
  const command = parseCommand("ticket", ticket);
  const { principal, consistency } = call;
  const run = (
    namespace: string,
    query: string,
    rows: Parameters<typeof statementMessages>[2],
    id: string,
    token = call.token,
  ) => {
    const statement = { namespace, query, token, consistency };
    return runStatement(deps, principal.id, id, call.signal, (signal) =>
      statementMessages(sqlFor(deps.sql, call), statement, rows, signal, (reflected) => sendToken(context, reflected)),
    );
  };
  switch (command.$typeName) {
    case "arrow.flight.protocol.sql.TicketStatementQuery": {
      const parsed = parseTicket(command.statementHandle);
      const token = mergeTokens(parsed.token, call.token);
      if (parsed.kind === "prepared") {
        const { namespace, query, rows } = deps.prepared.get(principal.id, parsed.handle);
        yield* run(namespace, query, rows, parsed.id, token);
        return;
      }
      checkQuery(parsed.query, undefined);
      const namespace = ticketNamespace(call, parsed.namespace);
      yield* run(namespace, parsed.query, [], parsed.id, token);
      return;
    }
    case "arrow.flight.protocol.sql.CommandStatementQuery":
      checkQuery(command.query, command.transactionId);
      yield* run(namespaceOf(call, command.query, deps.namespaces()), command.query, [], "");
      return;
    case "arrow.flight.protocol.sql.CommandPreparedStatementQuery": {
      const { namespace, query, rows } = deps.prepared.get(principal.id, handleOf(command.preparedStatementHandle));
      yield* run(namespace, query, rows, "");
      return;
    }
    default:
      yield* await answerCatalog(deps, call, command);
  }
}

/** Stopped by its caller's leaving, or by another call that cancels it. */
async function* runStatement(
  deps: FlightDeps,
  owner: string,
  id: string,
  callSignal: AbortSignal,
  start: (signal: AbortSignal) => AsyncGenerator<ArrowMessage>,
): AsyncGenerator<ArrowMessage> {
  using running = deps.running.begin(owner, id);
  try {
    yield* start(AbortSignal.any([callSignal, running.signal]));
  } catch (error) {
    throw running.signal.aborted ? running.signal.reason : error;
  }
}

/** Stands for a message that goes another way. */
const inLane = {};

function checkSize({ bodyBytes }: ArrowMessage): void {
  if (bodyBytes <= flightLimits.writeBytesMax) return;
  throw new EngineError("resource_exhausted", `a row has more than ${flightLimits.writeBytesMax} bytes`);
}

function dataOf({ metadata, body, bodyBytes }: ArrowMessage) {
  return { dataHeader: metadata, dataBody: body.length === 1 ? body[0]! : Buffer.concat(body, bodyBytes) };
}

async function* doPut(
  deps: FlightDeps,
  call: FlightCall,
  requests: AsyncIterable<FlightData>,
): AsyncGenerator<{ appMetadata: Uint8Array }> {
  let handle: string | undefined;
  const parameters = new ParameterReader();
  for await (const data of requests) {
    if (handle === undefined) {
      const command = commandOf(data.flightDescriptor);
      if (command.$typeName !== "arrow.flight.protocol.sql.CommandPreparedStatementQuery") {
        throw unimplemented("DoPut takes the parameters of a prepared statement and nothing else");
      }
      handle = handleOf(command.preparedStatementHandle);
      deps.prepared.get(call.principal.id, handle);
    }
    parameters.add(data);
  }
  if (handle === undefined) throw invalid("flight_descriptor", "must hold a command of Flight SQL");
  deps.prepared.bind(call.principal.id, handle, parameters.rows, parameters.bytes);
  const result = create(DoPutPreparedStatementResultSchema, { preparedStatementHandle: Buffer.from(handle) });
  yield { appMetadata: toBinary(DoPutPreparedStatementResultSchema, result) };
}
