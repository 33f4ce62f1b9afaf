import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlError } from "./error.ts";
import { mysqlLimits } from "./limits.ts";
import type { Cell } from "./rows.ts";
import type { Value } from "./variable-defaults.ts";
import { checkCharacterSet, type Variables } from "./variables.ts";

const scopes = ["SESSION", "LOCAL", "GLOBAL", "PERSIST", "PERSIST_ONLY"];

/** Evaluates an expression that is more than a constant. */
export type Evaluate = (tokens: readonly MysqlToken[]) => Promise<Cell>;

/** SET: names of character sets, variables of the session and of the user, and what transactions would be like. */
export async function setStatement(
  tokens: readonly MysqlToken[],
  variables: Variables,
  evaluateElsewhere: Evaluate,
): Promise<void> {
  const rest = isWord(tokens[1], ...scopes) ? tokens.slice(2) : tokens.slice(1);
  // Statements are read-only and alone: every isolation holds.
  if (isWord(rest[0], "TRANSACTION")) return;
  if (isWord(rest[0], "PASSWORD", "ROLE", "DEFAULT", "RESOURCE")) {
    throw mysqlError("notSupported", `SET ${rest[0]!.value.toUpperCase()} is not known here`);
  }
  for (const part of splitAtCommas(tokens.slice(1))) {
    const names = namesIn(part);
    if (names !== undefined) setNames(names, variables);
    else await assign(part, variables, evaluateElsewhere);
  }
}

/** What follows `NAMES`, `CHARSET` or `CHARACTER SET`; undefined for anything else. */
function namesIn(tokens: readonly MysqlToken[]): readonly MysqlToken[] | undefined {
  if (isWord(tokens[0], "NAMES", "CHARSET") && !isOperator(tokens[1], "=")) return tokens.slice(1);
  return isWord(tokens[0], "CHARACTER") && isWord(tokens[1], "SET") ? tokens.slice(2) : undefined;
}

function setNames(tokens: readonly MysqlToken[], variables: Variables): void {
  const [name] = tokens;
  if (name === undefined) throw wrong(undefined);
  if (!isWord(name, "DEFAULT")) checkCharacterSet(name.value);
  for (const each of ["character_set_client", "character_set_connection", "character_set_results"]) {
    variables.set(each, isWord(name, "DEFAULT") ? undefined : name.value.toLowerCase());
  }
  if (isWord(tokens[1], "COLLATE") && tokens[2] !== undefined) variables.set("collation_connection", tokens[2].value);
}

export function splitAtCommas(tokens: readonly MysqlToken[]): MysqlToken[][] {
  const parts: MysqlToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (isOperator(token, "(")) depth++;
    else if (isOperator(token, ")")) depth--;
    if (depth === 0 && isOperator(token, ",")) parts.push([]);
    else parts.at(-1)!.push(token);
  }
  return parts;
}

async function assign(tokens: readonly MysqlToken[], variables: Variables, evaluateElsewhere: Evaluate): Promise<void> {
  const scoped = isWord(tokens[0], ...scopes) ? tokens[0]!.value.toLowerCase() : undefined;
  const [target, equals, ...value] = scoped === undefined ? tokens : tokens.slice(1);
  if (target === undefined || !(isOperator(equals, "=") || isOperator(equals, ":=")) || value.length === 0) {
    throw wrong(target);
  }
  const found = async () => evaluate(value, variables) ?? (await evaluateElsewhere(value));
  if (target.kind === "user-variable") {
    variables.setUserVariable(target.value, isNull(value) ? null : await found());
    return;
  }
  const name = target.kind === "variable" || isName(target) ? target.value : undefined;
  if (name === undefined) throw wrong(target);
  const isDefault = value.length === 1 && isWord(value[0], "DEFAULT");
  variables.set(
    scoped === undefined ? name : `${scoped}.${name}`,
    isDefault ? undefined : isNull(value) ? null : plain(await found()),
  );
}

function plain(cell: Cell): Value {
  return typeof cell === "bigint" ? String(cell) : cell;
}

function isNull(tokens: readonly MysqlToken[]): boolean {
  return tokens.length === 1 && isWord(tokens[0], "NULL");
}

/**
 * A literal, a word such as ON, a variable, or a CONCAT or REPLACE of these, which clients send when they connect and
 * no database may be in use; undefined for anything else.
 */
function evaluate(tokens: readonly MysqlToken[], variables: Variables): Cell | undefined {
  const [first] = tokens;
  if (tokens.length === 1) {
    const value = constant(first!, variables);
    return value === undefined ? wordValue(first!) : value;
  }
  if (isOperator(first, "-") && tokens.length === 2 && tokens[1]!.kind === "number") return -Number(tokens[1]!.value);
  if (isOperator(first, "(") && isOperator(tokens.at(-1), ")")) {
    return evaluate(tokens.slice(isWord(tokens[1], "SELECT") ? 2 : 1, -1), variables);
  }
  if (!isOperator(tokens[1], "(") || !isOperator(tokens.at(-1), ")")) return undefined;
  const values = splitAtCommas(tokens.slice(2, -1)).map((each) => (each.length === 0 ? "" : evaluate(each, variables)));
  if (values.includes(undefined)) return undefined;
  const texts = values.map((value) => String(value ?? ""));
  if (isWord(first, "CONCAT")) {
    checkLength(texts.reduce((sum, { length }) => sum + length, 0));
    return texts.join("");
  }
  if (isWord(first, "REPLACE") && texts.length === 3) return replaced(texts[0]!, texts[1]!, texts[2]!);
  if (isWord(first, "IFNULL", "COALESCE")) return texts.find((value) => value !== "") ?? "";
  return undefined;
}

function replaced(text: string, from: string, to: string): string {
  if (from === "") return text;
  const parts = text.split(from);
  checkLength(text.length + (parts.length - 1) * (to.length - from.length));
  return parts.join(to);
}

/** Before it is made: what is too long to be kept must not be there for a moment either. */
function checkLength(length: number): void {
  if (length > mysqlLimits.variableCharactersMax) throw mysqlError("wrongValue", "The value is too long");
}

/** The value of a word that is one by itself; undefined for any other. */
export function constant(token: MysqlToken, variables: Variables): Cell | undefined {
  switch (token.kind) {
    case "string":
    case "doubled":
      return token.value;
    case "number":
      return /^\d{1,15}$/.test(token.value) ? Number(token.value) : token.value;
    case "variable":
      return variables.get(token.value);
    case "user-variable":
      return variables.userVariable(token.value);
    default:
      return isWord(token, "NULL") ? null : undefined;
  }
}

function wordValue(token: MysqlToken): Cell {
  if (!isName(token)) throw wrong(token);
  return token.value;
}

function wrong(token: MysqlToken | undefined) {
  return mysqlError("syntax", `You have an error in your SQL syntax near '${token?.value ?? "the end"}'`);
}
