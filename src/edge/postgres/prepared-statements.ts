import assert from "node:assert/strict";
import type { SqlDescription } from "../../engine/sql/sql.ts";
import { type ByteAccount, statementBytes } from "../wire/byte-budget.ts";
import type { Command } from "./command.ts";
import type { StatementText } from "./dialect/lexer.ts";
import type { PreparedText } from "./dialect/rewrite.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import { typeLabel } from "./parameter-types.ts";

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
  /** The types of its columns as they were announced to the client. */
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

/** The prepared statements of one session, and how much of them there may be. */
export class PreparedStatements {
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #account: ByteAccount;
  #bytes = 0;

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  get(name: string): PreparedStatement {
    const found = this.#statements.get(name);
    if (found === undefined) throw new PostgresError("26000", `prepared statement "${name}" does not exist`);
    return found;
  }

  /** Those that have a name, as the catalogs list them. */
  get listed(): PreparedText[] {
    const named = [...this.#statements].filter(([name]) => name !== "");
    return named.map(([name, { source, statement, types, isFromSql = false }]) => ({
      name,
      text: isFromSql ? source : (statement?.text ?? ""),
      types: types.map((oid) => typeLabel(oid) ?? "unknown"),
      isFromSql,
    }));
  }

  /** Throws where no statement of this name can be prepared. */
  checkNew(name: string): void {
    const isKnown = this.#statements.has(name);
    if (isKnown && name !== "") throw new PostgresError("42P05", `prepared statement "${name}" already exists`);
    if (isKnown || this.#statements.size < postgresLimits.statementsMax) return;
    throw new PostgresError("54000", `a session has at most ${postgresLimits.statementsMax} prepared statements`);
  }

  set(name: string, statement: PreparedStatement): void {
    this.delete(name);
    const bytes = this.#bytes + preparedBytes(statement);
    const { statementBytesMax } = postgresLimits;
    if (bytes > statementBytesMax) {
      throw new PostgresError(
        "54000",
        `the prepared statements of a session take more than ${statementBytesMax} bytes`,
      );
    }
    if (!this.#account.hold(bytes)) {
      throw new PostgresError("53200", "the prepared statements and cursors of all sessions take too many bytes");
    }
    this.#bytes = bytes;
    this.#statements.set(name, statement);
  }

  delete(name: string): void {
    const found = this.#statements.get(name);
    if (found === undefined) return;
    this.#statements.delete(name);
    this.#bytes -= preparedBytes(found);
    assert(this.#bytes >= 0, "a statement gives back what it took");
    this.#account.hold(this.#bytes);
  }

  clear(): void {
    this.#statements.clear();
    this.#bytes = 0;
    this.#account.release();
  }
}

export function preparedBytes({ source, statement }: PreparedStatement): number {
  return statementBytes(source, statement?.tokens.length ?? 0);
}
