import { type StatementText, statementPart, tokenize } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import { typeLabel, typeNumber, vectorParameters } from "./parameter-types.ts";
import { TokenReader } from "./token-reader.ts";

/** `PREPARE name [ ( type, … ) ] AS statement` */
export interface PrepareCommand {
  readonly kind: "prepare";
  readonly name: string;
  readonly types: readonly number[];
  readonly query: StatementText;
}

export function parsePrepare(statement: StatementText, reader: TokenReader): PrepareCommand {
  const name = reader.name();
  if (name === "transaction") throw new PostgresError("0A000", "prepared transactions are not supported");
  const types: number[] = [];
  if (reader.isSymbol("(")) {
    const { from, to } = reader.brackets();
    for (const type of statement.text.slice(from, to).split(",")) types.push(typeNumber(type.trim()) ?? 0);
  }
  if (!reader.skip("as")) throw reader.syntaxError();
  return { kind: "prepare", name, types, query: statementPart(statement, reader.position) };
}

/** `EXECUTE name [ ( value, … ) ]`: which statement it runs, with the texts of its values. */
export interface Executed {
  readonly name: string;
  readonly values: readonly string[];
}

/** Undefined for any other statement. */
export function parseExecute({ text, tokens }: StatementText): Executed | undefined {
  const reader = new TokenReader(tokens);
  if (reader.word() !== "execute") return undefined;
  const name = reader.name();
  const values: string[] = [];
  if (reader.isSymbol("(")) {
    let { from, to } = reader.brackets();
    let depth = 0;
    for (const token of tokens) {
      if (token.start < from || token.end > to || token.kind !== "symbol") continue;
      if (token.text === "(" || token.text === "[") depth++;
      else if (token.text === ")" || token.text === "]") depth--;
      else if (token.text === "," && depth === 0) {
        values.push(text.slice(from, token.start));
        from = token.end;
      }
    }
    if (from < to) values.push(text.slice(from, to));
  }
  if (!reader.isAtEnd) throw reader.syntaxError();
  return { name, values };
}

/** What is known of a statement that was prepared. */
interface Prepared {
  /** Undefined for one that says nothing. */
  readonly statement: StatementText | undefined;
  readonly types: readonly number[];
  readonly parameterCount: number;
}

/** The text of a prepared statement with its values in place of its parameters. */
export function filledText({ statement, parameterCount, types }: Prepared, { name, values }: Executed): string {
  if (values.length !== parameterCount) {
    throw new PostgresError("42601", `wrong number of parameters for prepared statement "${name}"`, {
      detail: `Expected ${parameterCount} parameters but got ${values.length}.`,
    });
  }
  const vectors = statement === undefined ? new Set() : vectorParameters(statement);
  const parts: string[] = [];
  let at = 0;
  let length = 0;
  for (const { kind, text, start, end } of statement?.tokens ?? []) {
    if (kind !== "parameter") continue;
    const index = Number(text.slice(1)) - 1;
    const value = typed(values[index] ?? "NULL", vectors.has(index) ? 0 : (types[index] ?? 0));
    length += value.length;
    if (length > postgresLimits.messageBytesMax) throw new PostgresError("54000", "the values are too long");
    parts.push(statement!.text.slice(at, start), value);
    at = end;
  }
  return parts.join("") + (statement?.text.slice(at) ?? "");
}

/** A value of the type that PREPARE gave its parameter, if any. */
function typed(value: string, oid: number): string {
  const label = typeLabel(oid);
  if (label === undefined) return `(${value})`;
  // A string is read as a literal of the type where the cast follows it at once.
  return tokenize(value).length === 1 ? `(${value}::${label})` : `((${value})::${label})`;
}
