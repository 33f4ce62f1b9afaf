import type { SqlDescription } from "../../engine/sql/sql.ts";
import type { Command } from "./command.ts";
import type { StatementText } from "./dialect/lexer.ts";

/** A statement as Parse left it. */
export interface PreparedStatement {
  /** The whole text of which it is the part `statement`. */
  readonly source: string;
  /** Undefined for one that says nothing. */
  readonly statement: StatementText | undefined;
  readonly command: Command;
  /** As the client gave them; 0 leaves one to the server. */
  readonly types: readonly number[];
  readonly parameterCount: number;
  /** What the engine said of it, once it was asked. */
  description: SqlDescription | undefined;
  /** The types of its columns as the client was told them. */
  announced: readonly number[] | undefined;
  /** Made by PREPARE, and not by the protocol. */
  readonly isFromSql?: boolean;
}

/** A query that stands within another statement, such as that of a cursor. */
export function innerQuery(source: string, statement: StatementText): PreparedStatement {
  return {
    source,
    statement,
    command: { kind: "query" },
    types: [],
    parameterCount: 0,
    description: undefined,
    announced: undefined,
  };
}

/** How many parameters a statement has: the highest `$n`, or as many as types were given for. */
export function countParameters(statement: StatementText | undefined, types: readonly number[]): number {
  let count = types.length;
  for (const { kind, text } of statement?.tokens ?? []) {
    if (kind === "parameter") count = Math.max(count, Number(text.slice(1)));
  }
  return count;
}
