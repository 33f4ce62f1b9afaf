import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCommand } from "./command.ts";
import { formatTicket, parseTicket, type StatementTicket } from "./ticket.ts";

const token = [{ stream: 3, partition: 0, offset: 41 }];

for (const ticket of [
  { kind: "statement", id: "1", namespace: "shop", query: "select 'ü'", token },
  { kind: "prepared", id: "2", handle: "abc", token: [] },
] satisfies StatementTicket[]) {
  test(`a ${ticket.kind} ticket comes back as it went`, () => {
    const command = parseCommand("ticket", formatTicket(ticket));
    assert.ok(command.$typeName === "arrow.flight.protocol.sql.TicketStatementQuery");
    assert.deepEqual(parseTicket(command.statementHandle), ticket);
  });
}

for (const handle of ["", "null", "[]", "{", '{"kind":"statement"}', '{"kind":"other","id":"1","token":"[]"}']) {
  test(`a made-up ticket is refused: ${handle}`, () => {
    assert.throws(() => parseTicket(Buffer.from(handle)), { reason: "invalid_argument", message: /^ticket: / });
  });
}
