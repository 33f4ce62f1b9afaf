import type { SqlParameter } from "../../engine/sql/sql.ts";
import type { SessionBytes } from "../wire/byte-budget.ts";
import type { Statement } from "./dialect/lexer.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlError } from "./error.ts";
import { mysqlLimits } from "./limits.ts";
import { bytesOf, noRoom } from "./prepared-statements.ts";
import type { Variables } from "./variables.ts";

/**
 * Statements that SQL prepares:
 *
 *     PREPARE name FROM { 'text' | @variable }
 *     EXECUTE name [ USING @variable, … ]
 *     { DEALLOCATE | DROP } PREPARE name
 */
export class NamedStatements {
  readonly #statements = new Map<string, Statement>();
  readonly #bytes: SessionBytes;

  constructor(bytes: SessionBytes) {
    this.#bytes = bytes;
  }

  async prepare(
    tokens: readonly MysqlToken[],
    variables: Variables,
    parse: (text: string) => Statement[],
    check: (statement: Statement) => Promise<unknown>,
  ): Promise<void> {
    const [, name, from, text, more] = tokens;
    const isText = text?.kind === "string" || text?.kind === "doubled" || text?.kind === "user-variable";
    if (!isName(name) || !isWord(from, "FROM") || !isText || more !== undefined) throw wrong(from ?? name);
    const source = text.kind === "user-variable" ? String(variables.userVariable(text.value) ?? "") : text.value;
    const [statement, another] = parse(source);
    if (another !== undefined) throw mysqlError("syntax", "A prepared statement is one statement");
    if (isWord(statement!.tokens[0], "PREPARE", "EXECUTE", "DEALLOCATE")) {
      throw mysqlError("notSupported", "This command is not supported in the prepared statement protocol yet");
    }
    const key = name!.value.toLowerCase();
    if (this.#statements.size >= mysqlLimits.statementsMax && !this.#statements.has(key)) {
      throw mysqlError("tooManyStatements", `Can't create more than ${mysqlLimits.statementsMax} statements`);
    }
    this.#forget(key);
    await check(statement!);
    if (!this.#bytes.grow(bytesOf(statement!))) throw noRoom();
    this.#statements.set(key, statement!);
  }

  execute(
    tokens: readonly MysqlToken[],
    variables: Variables,
  ): { readonly statement: Statement; readonly params: readonly SqlParameter[] } {
    const [, name, using, ...names] = tokens;
    const statement = this.#find(name);
    if (using !== undefined && (!isWord(using, "USING") || names.length === 0)) throw wrong(using);
    const params: SqlParameter[] = [];
    for (const [i, token] of names.entries()) {
      if (i % 2 === 1 ? !isOperator(token, ",") : token.kind !== "user-variable") throw wrong(token);
      if (i % 2 === 0) params.push({ value: variables.userVariable(token.value) });
    }
    const wanted = statement.tokens.filter(({ kind }) => kind === "parameter").length;
    if (params.length !== wanted) throw mysqlError("wrongArguments", "Incorrect arguments to EXECUTE");
    return { statement, params };
  }

  drop(tokens: readonly MysqlToken[]): void {
    const [, prepare, name] = tokens;
    if (!isWord(prepare, "PREPARE")) throw wrong(prepare);
    this.#find(name);
    this.#forget(name!.value.toLowerCase());
  }

  clear(): void {
    for (const name of [...this.#statements.keys()]) this.#forget(name);
  }

  #forget(name: string): void {
    const found = this.#statements.get(name);
    if (found === undefined) return;
    this.#statements.delete(name);
    this.#bytes.shrink(bytesOf(found));
  }

  #find(name: MysqlToken | undefined): Statement {
    if (!isName(name)) throw wrong(name);
    const found = this.#statements.get(name!.value.toLowerCase());
    if (found !== undefined) return found;
    throw mysqlError("unknownStatement", `Unknown prepared statement handler (${name!.value}) given to EXECUTE`);
  }
}

function wrong(token: MysqlToken | undefined) {
  return mysqlError("syntax", `You have an error in your SQL syntax near '${token?.value ?? "the end"}'`);
}
