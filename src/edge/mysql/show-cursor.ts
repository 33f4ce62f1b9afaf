import type { Principal } from "../../engine/auth/principal.ts";
import { isTableSchema } from "../../engine/sql/columns.ts";
import type { WireConnection } from "../wire/connection.ts";
import type { Catalog, CatalogTable } from "./catalog.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlError } from "./error.ts";
import type { ProcessList } from "./process-list.ts";
import type { Table } from "./rows.ts";
import type { Variables } from "./variables.ts";
import { filterShown } from "./where.ts";

/** What a SHOW is asked by. */
export interface ShowContext {
  readonly catalog: Catalog;
  readonly processes: ProcessList;
  readonly variables: Variables;
  readonly principal: Principal;
  readonly user: string;
  readonly database: string | undefined;
  readonly connection: Pick<WireConnection, "cipher">;
}

/** Reads a statement from its left. */
export class Cursor {
  readonly #tokens: readonly MysqlToken[];
  #at = 0;

  constructor(tokens: readonly MysqlToken[]) {
    this.#tokens = tokens;
  }

  word(...words: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (!isWord(token, ...words)) return undefined;
    this.#at++;
    return token!.value.toUpperCase();
  }

  need(word: string): void {
    if (this.word(word) === undefined) throw this.wrong();
  }

  next(): MysqlToken | undefined {
    return this.#tokens[this.#at++];
  }

  comma(): boolean {
    const isComma = isOperator(this.#tokens[this.#at], ",");
    if (isComma) this.#at++;
    return isComma;
  }

  /** `LIKE …` or `WHERE …` to the end. */
  filter(table: Table): Table {
    return filterShown(table, this.#tokens.slice(this.#at));
  }

  name(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined || !(isName(token) || token.kind === "doubled")) throw this.wrong();
    this.#at++;
    return token.value;
  }

  /** `name`, `a.name`, and `FROM database` after it. */
  names(): string[] {
    const names = [this.name()];
    while (isOperator(this.#tokens[this.#at], ".")) {
      this.#at++;
      names.push(this.name());
    }
    return names;
  }

  database(context: ShowContext): string {
    const named = this.word("FROM", "IN") === undefined ? undefined : this.name();
    return openDatabase(context, named);
  }

  async table(context: ShowContext): Promise<CatalogTable> {
    const names = this.names();
    const after = this.word("FROM", "IN") === undefined ? undefined : this.name();
    if (after !== undefined) return context.catalog.table(openDatabase(context, after), names.join("."));
    const isSchema = names.length === 2 && isTableSchema(names[0]!);
    if (names.length === 1 || isSchema) return context.catalog.table(openDatabase(context, undefined), names.join("."));
    const [database, ...rest] = names;
    return context.catalog.table(openDatabase(context, database), rest.join("."));
  }

  wrong() {
    const near = this.#tokens[this.#at]?.value ?? "the end";
    return mysqlError("syntax", `You have an error in your SQL syntax near '${near}'`);
  }
}

export function openDatabase({ catalog, principal, user, database }: ShowContext, named: string | undefined): string {
  const wanted = named ?? database;
  if (wanted === undefined) throw mysqlError("noDatabase", "No database selected");
  catalog.open(principal, user, wanted);
  return wanted;
}
