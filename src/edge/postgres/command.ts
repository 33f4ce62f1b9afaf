import { type CopyCommand, parseCopy } from "./copy/command.ts";
import type { StatementText } from "./dialect/lexer.ts";
import { statementPart } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";
import type { ExplainFormat } from "./explain.ts";
import { type PrepareCommand, parsePrepare } from "./prepare-command.ts";
import type { Move } from "./scroll.ts";
import { TokenReader } from "./token-reader.ts";

/** What a statement asks of the session itself; everything else is a query for the engine. */
export type Command =
  | { readonly kind: "query"; readonly explain?: ExplainFormat }
  | { readonly kind: "begin"; readonly tag: "BEGIN" | "START TRANSACTION" }
  | { readonly kind: "commit" }
  | { readonly kind: "rollback" }
  | { readonly kind: "savepoint"; readonly name: string }
  | { readonly kind: "release"; readonly name: string }
  | { readonly kind: "rollback_to"; readonly name: string }
  | { readonly kind: "set"; readonly name: string; readonly value: string | undefined; readonly isLocal: boolean }
  | { readonly kind: "reset"; readonly name: string | undefined }
  | { readonly kind: "show"; readonly name: string }
  | { readonly kind: "discard"; readonly what: string }
  | { readonly kind: "deallocate"; readonly name: string | undefined }
  | PrepareCommand
  | DeclareCommand
  | { readonly kind: "fetch"; readonly name: string; readonly move: Move; readonly isMove: boolean }
  | { readonly kind: "close"; readonly name: string | undefined }
  | CopyCommand
  /** Nothing has to be done for it. */
  | { readonly kind: "accepted"; readonly tag: string }
  | { readonly kind: "refused"; readonly error: PostgresError };

export interface DeclareCommand {
  readonly kind: "declare";
  readonly name: string;
  readonly isHeld: boolean;
  readonly isScroll: boolean;
  readonly query: StatementText;
}

const query: Command = { kind: "query" };

/** `isSetting` tells which names `SHOW` shows; others are tables, or none. */
export function parseCommand(statement: StatementText, isSetting: (name: string) => boolean): Command {
  const reader = new TokenReader(statement.tokens);
  const first = reader.word();
  switch (first) {
    case "begin":
      return { kind: "begin", tag: "BEGIN" };
    case "start":
      return reader.word() === "transaction" ? { kind: "begin", tag: "START TRANSACTION" } : query;
    case "commit":
    case "end":
      return ended(reader, { kind: "commit" });
    case "abort":
      return { kind: "rollback" };
    case "rollback":
      return rollback(reader);
    case "savepoint":
      return { kind: "savepoint", name: reader.name() };
    case "release":
      reader.skip("savepoint");
      return { kind: "release", name: reader.name() };
    case "set":
      return set(reader);
    case "reset":
      return reset(reader);
    case "show":
      return show(reader, isSetting);
    case "discard":
      return { kind: "discard", what: (reader.word() ?? "all").toUpperCase() };
    case "deallocate":
      reader.skip("prepare");
      return { kind: "deallocate", name: reader.peekWord() === "all" ? undefined : reader.name() };
    case "declare":
      return declare(statement, reader);
    case "fetch":
    case "move":
      return fetch(reader, first === "move");
    case "close":
      return { kind: "close", name: reader.peekWord() === "all" ? undefined : reader.name() };
    case "copy":
      return parseCopy(statement, reader);
    case "prepare":
      return parsePrepare(statement, reader);
    default:
      return other(first);
  }
}

function other(first: string | undefined): Command {
  switch (first) {
    case "unlisten":
      return { kind: "accepted", tag: "UNLISTEN" };
    case "listen":
      // No notification ever comes, as if nobody sent any.
      return { kind: "accepted", tag: "LISTEN" };
    case "notify":
      return refused("0A000", "NOTIFY is not supported", "Append to a stream, whose records are followed over REST.");
    case "lock":
      return refused("0A000", "LOCK is not supported: there is nothing that could be locked");
    case "do":
    case "call":
      return refused("0A000", `${first.toUpperCase()} is not supported`);
    default:
      return query;
  }
}

function refused(code: string, message: string, hint?: string): Command {
  return { kind: "refused", error: new PostgresError(code, message, { hint }) };
}

/** Two-phase commits are of no use where nothing is written. */
function ended(reader: TokenReader, command: Command): Command {
  return reader.peekWord() === "prepared" ? refused("0A000", "prepared transactions are not supported") : command;
}

function rollback(reader: TokenReader): Command {
  if (!reader.skip("work")) reader.skip("transaction");
  if (!reader.skip("to")) return ended(reader, { kind: "rollback" });
  reader.skip("savepoint");
  return { kind: "rollback_to", name: reader.name() };
}

function set(reader: TokenReader): Command {
  const isLocal = reader.skip("local");
  if (!isLocal) reader.skip("session");
  switch (reader.peekWord()) {
    case "transaction":
    case "characteristics":
    case "constraints":
    case "role":
    case "authorization":
      // All are read-only whatever is asked, and there is one role.
      return { kind: "accepted", tag: "SET" };
    case "names":
      reader.word();
      return { kind: "set", name: "client_encoding", value: reader.valueList(), isLocal };
    case "schema":
      reader.word();
      return { kind: "set", name: "search_path", value: reader.valueList(), isLocal };
    case "time":
      reader.word();
      if (!reader.skip("zone")) throw reader.syntaxError();
      return { kind: "set", name: "TimeZone", value: reader.valueList(), isLocal };
    default: {
      const name = reader.dottedName();
      if (!reader.skipSymbol("=") && !reader.skip("to")) throw reader.syntaxError();
      return { kind: "set", name, value: reader.valueList(), isLocal };
    }
  }
}

function reset(reader: TokenReader): Command {
  if (reader.peekWord() === "all") return { kind: "reset", name: undefined };
  if (reader.skip("time")) return { kind: "reset", name: "TimeZone" };
  if (reader.skip("session") || reader.skip("role")) return { kind: "accepted", tag: "RESET" };
  return { kind: "reset", name: reader.dottedName() };
}

function show(reader: TokenReader, isSetting: (name: string) => boolean): Command {
  const word = reader.peekWord();
  if (word === "transaction") return { kind: "show", name: "transaction_isolation" };
  if (word === "time") return { kind: "show", name: "TimeZone" };
  if (word === "session") return { kind: "show", name: "session_authorization" };
  const name = reader.dottedName();
  if (!reader.isAtEnd) return query;
  return name === "all" || isSetting(name) || name.includes(".") ? { kind: "show", name } : query;
}

function declare(statement: StatementText, reader: TokenReader): Command {
  const name = reader.name();
  let isScroll = false;
  while (["binary", "insensitive", "asensitive", "no", "scroll"].includes(reader.peekWord() ?? "")) {
    const word = reader.word();
    if (word === "binary") return refused("0A000", "a binary cursor is not supported; a portal may be binary");
    if (word === "no" && !reader.skip("scroll")) throw reader.syntaxError();
    isScroll ||= word === "scroll";
  }
  if (!reader.skip("cursor")) throw reader.syntaxError();
  const isHeld = reader.skip("with");
  if (isHeld || reader.skip("without")) reader.skip("hold");
  if (!reader.skip("for")) throw reader.syntaxError();
  return { kind: "declare", name, isHeld, isScroll, query: statementPart(statement, reader.position) };
}

function fetch(reader: TokenReader, isMove: boolean): Command {
  const move = moveOf(reader);
  if (!reader.skip("from")) reader.skip("in");
  return { kind: "fetch", name: reader.name(), move, isMove };
}

function moveOf(reader: TokenReader): Move {
  const word = reader.peekWord();
  // A cursor may be called so, too.
  const isDirection = word !== undefined && directions.has(word);
  if (isDirection) reader.word();
  switch (isDirection ? word : undefined) {
    case "prior":
      return { kind: "rows", count: -1 };
    case "first":
      return { kind: "absolute", row: 1 };
    case "last":
      return { kind: "absolute", row: -1 };
    case "absolute":
      return { kind: "absolute", row: count(reader) ?? 1 };
    case "relative":
      return { kind: "relative", rows: count(reader) ?? 1 };
    case "backward":
      return { kind: "rows", count: -(count(reader) ?? 1) };
    case "next":
      return { kind: "rows", count: 1 };
    default:
      return { kind: "rows", count: count(reader) ?? 1 };
  }
}

const directions = new Set("next prior first last absolute relative forward backward".split(" "));

function count(reader: TokenReader): number | undefined {
  if (reader.skip("all")) return Number.POSITIVE_INFINITY;
  const isNegative = reader.skipSymbol("-");
  const number = reader.number();
  return isNegative && number !== undefined ? -number : number;
}
