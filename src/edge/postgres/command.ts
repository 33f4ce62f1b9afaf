import { nameOf, type StatementText, stringOf, type Token } from "../../engine/sql/dialect/postgres-lexer.ts";
import { PostgresError } from "./error.ts";

/** What a statement asks of the session itself; everything else is a query for the engine. */
export type Command =
  | { readonly kind: "query" }
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
  | { readonly kind: "declare"; readonly name: string; readonly isHeld: boolean; readonly queryStart: number }
  | { readonly kind: "fetch"; readonly name: string; readonly rows: number; readonly isMove: boolean }
  | { readonly kind: "close"; readonly name: string | undefined }
  /** Nothing has to be done for it. */
  | { readonly kind: "accepted"; readonly tag: string }
  | { readonly kind: "refused"; readonly error: PostgresError };

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
      return declare(reader);
    case "fetch":
    case "move":
      return fetch(reader, first === "move");
    case "close":
      return { kind: "close", name: reader.peekWord() === "all" ? undefined : reader.name() };
    default:
      return other(first);
  }
}

function other(first: string | undefined): Command {
  switch (first) {
    case "unlisten":
      return { kind: "accepted", tag: "UNLISTEN" };
    case "listen":
    case "notify":
      return refused("0A000", `${first.toUpperCase()} is not supported`, "A stream's records are followed over REST.");
    case "prepare":
      if (first === "prepare") return refused("0A000", "PREPARE is not supported", prepareHint);
      return query;
    case "execute":
      return refused("0A000", "EXECUTE is not supported", prepareHint);
    case "copy":
      return refused("0A000", "COPY is not supported", "SELECT gives the rows; documents are written over REST.");
    case "lock":
      return refused("0A000", "LOCK is not supported: there is nothing that could be locked");
    case "do":
    case "call":
      return refused("0A000", `${first.toUpperCase()} is not supported`);
    default:
      return query;
  }
}

const prepareHint = "Statements are prepared by the protocol's own messages, as drivers do.";

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

function declare(reader: TokenReader): Command {
  const name = reader.name();
  while (["binary", "insensitive", "asensitive", "no", "scroll"].includes(reader.peekWord() ?? "")) {
    const word = reader.word();
    if (word === "binary") return refused("0A000", "a binary cursor is not supported; a portal may be binary");
  }
  if (!reader.skip("cursor")) throw reader.syntaxError();
  const isHeld = reader.skip("with");
  if (isHeld || reader.skip("without")) reader.skip("hold");
  if (!reader.skip("for")) throw reader.syntaxError();
  return { kind: "declare", name, isHeld, queryStart: reader.position };
}

function fetch(reader: TokenReader, isMove: boolean): Command {
  let rows = 1;
  const direction = reader.peekWord();
  if (direction === "next" || direction === "forward") {
    reader.word();
    if (direction === "forward") rows = count(reader) ?? 1;
  } else if (["prior", "first", "last", "absolute", "relative", "backward"].includes(direction ?? "")) {
    return refused("55000", "cursor can only scan forward");
  } else {
    rows = count(reader) ?? 1;
  }
  if (!reader.skip("from")) reader.skip("in");
  return { kind: "fetch", name: reader.name(), rows, isMove };
}

function count(reader: TokenReader): number | undefined {
  if (reader.skip("all")) return Number.POSITIVE_INFINITY;
  return reader.number();
}

class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** Where the next token begins in the statement. */
  get position(): number {
    return this.#tokens[this.#at]?.start ?? this.#tokens.at(-1)?.end ?? 0;
  }

  peekWord(): string | undefined {
    const token = this.#tokens[this.#at];
    return token?.kind === "word" ? token.text : undefined;
  }

  word(): string | undefined {
    const word = this.peekWord();
    if (word !== undefined) this.#at++;
    return word;
  }

  skip(word: string): boolean {
    if (this.peekWord() !== word) return false;
    this.#at++;
    return true;
  }

  skipSymbol(symbol: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "symbol" || token.text !== symbol) return false;
    this.#at++;
    return true;
  }

  name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "word" && token?.kind !== "quoted") throw this.syntaxError();
    this.#at++;
    return nameOf(token);
  }

  dottedName(): string {
    let name = this.name();
    while (this.skipSymbol(".")) name += `.${this.name()}`;
    return name;
  }

  number(): number | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "number") return undefined;
    this.#at++;
    return Number(token.text);
  }

  /** One value, or several with commas between; undefined is DEFAULT. */
  valueList(): string | undefined {
    if (this.peekWord() === "default") return undefined;
    const values: string[] = [];
    do {
      const isNegative = this.skipSymbol("-");
      const token = this.#tokens[this.#at];
      if (token === undefined || token.kind === "symbol" || token.kind === "broken") throw this.syntaxError();
      this.#at++;
      values.push((isNegative ? "-" : "") + (token.kind === "string" ? stringOf(token) : nameOf(token)));
    } while (this.skipSymbol(","));
    if (!this.isAtEnd) throw this.syntaxError();
    return values.join(", ");
  }

  syntaxError(): PostgresError {
    const token = this.#tokens[this.#at];
    const where = token === undefined ? "end of input" : `"${token.text.slice(0, 60)}"`;
    return new PostgresError("42601", `syntax error at or near ${where}`);
  }
}
