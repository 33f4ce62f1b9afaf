import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { invalid } from "../../engine/errors.ts";
import { type ConsistencyToken, formatToken, parseToken } from "../../engine/token.ts";
import { TicketStatementQuerySchema } from "../../gen/arrow/flight/protocol/FlightSql_pb.ts";
import { anyPack } from "./command.ts";

/**
 * A ticket holds the statement itself, so that nothing has to be kept for one that is never used. It is not signed: it
 * opens nothing that its bearer could not ask for by a statement of its own, and is judged like one.
 */
export type StatementTicket =
  | {
      readonly kind: "statement";
      readonly id: string;
      readonly namespace: string;
      readonly query: string;
      readonly token: ConsistencyToken;
    }
  | { readonly kind: "prepared"; readonly id: string; readonly handle: string; readonly token: ConsistencyToken };

export function formatTicket(ticket: StatementTicket): Uint8Array {
  const { token, ...rest } = ticket;
  const statementHandle = Buffer.from(JSON.stringify({ ...rest, token: formatToken(token) }));
  return toBinary(
    AnySchema,
    anyPack(TicketStatementQuerySchema, create(TicketStatementQuerySchema, { statementHandle })),
  );
}

export function parseTicket(handle: Uint8Array): StatementTicket {
  const parsed = parseHandle(handle);
  const { kind, id, namespace, query, handle: prepared, token } = parsed;
  if (typeof id === "string" && typeof token === "string") {
    const common = { id, token: parseToken("ticket", token) };
    if (kind === "statement" && typeof namespace === "string" && typeof query === "string") {
      return { kind, namespace, query, ...common };
    }
    if (kind === "prepared" && typeof prepared === "string") return { kind, handle: prepared, ...common };
  }
  throw unknownTicket();
}

function parseHandle(handle: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(handle).toString());
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw unknownTicket();
}

function unknownTicket() {
  return invalid("ticket", "was not given by this server");
}
