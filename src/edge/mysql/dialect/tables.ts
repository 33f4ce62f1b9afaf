import { isTableSchema } from "../../../engine/sql/columns.ts";
import { type Draft, quoteName } from "./draft.ts";
import { isName, isOperator, isWord, type MysqlToken, syntax } from "./lexer.ts";

/** A table of information_schema as a query; undefined when there is none of that name. */
export type InformationTable = (name: string) => string | undefined;

export const informationSchema = "information_schema";

/** Words that end the list of tables of a FROM. */
const listEnds = [
  "WHERE",
  "GROUP",
  "ORDER",
  "HAVING",
  "LIMIT",
  "UNION",
  "INTERSECT",
  "EXCEPT",
  "WINDOW",
  "QUALIFY",
  "SELECT",
  "FETCH",
  "OFFSET",
];
/** Words after a table that are no alias of it. */
const noAlias = [
  ...listEnds,
  "ON",
  "USING",
  "JOIN",
  "LEFT",
  "RIGHT",
  "INNER",
  "OUTER",
  "FULL",
  "CROSS",
  "NATURAL",
  "ASOF",
  "POSITIONAL",
  "SEMI",
  "ANTI",
  "FOR",
  "LOCK",
  "TABLESAMPLE",
];

/**
 * A database is a namespace, and all of a statement's tables must be of one: the name of the database goes, and what
 * stays is a table, or one of the schemas and a table. Returns the database, where it is not the one in use.
 */
export function rewriteTables(
  draft: Draft,
  database: string | undefined,
  informationTable: InformationTable,
): string | undefined {
  const pass = new TablePass(draft, database, informationTable);
  pass.run();
  return pass.named;
}

class TablePass {
  named: string | undefined;
  readonly #draft: Draft;
  readonly #database: string | undefined;
  readonly #informationTable: InformationTable;
  #local = false;

  constructor(draft: Draft, database: string | undefined, informationTable: InformationTable) {
    this.#draft = draft;
    this.#database = database;
    this.#informationTable = informationTable;
  }

  run(): void {
    const { tokens } = this.#draft;
    /** For each open parenthesis: whether it is in the list of a FROM, and whether a table may stand here. */
    const lists = [false];
    let expected = false;
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i]!;
      if (isOperator(token, "(")) lists.push(expected);
      else if (isOperator(token, ")")) {
        lists.pop();
        expected = false;
      } else if (isOperator(token, ",")) expected = lists.at(-1) === true;
      else if (isWord(token, "FROM", "JOIN")) {
        lists[lists.length - 1] = true;
        expected = true;
      } else if (isWord(token, ...listEnds)) {
        lists[lists.length - 1] = false;
        expected = false;
      } else if (isName(token) || token.kind === "doubled") {
        const end = this.#chainEnd(i);
        if (expected && !isWord(token, "LATERAL")) this.#table(i, end);
        else if (!expected) this.#column(i, end);
        expected = expected && isWord(token, "LATERAL");
        i = end - 1;
      } else expected = false;
    }
  }

  /** Behind the last part of `a.b.c`. */
  #chainEnd(start: number): number {
    const { tokens } = this.#draft;
    let end = start + 1;
    while (isOperator(tokens[end], ".") && (isName(tokens[end + 1]) || tokens[end + 1]?.kind === "doubled")) end += 2;
    return end;
  }

  #parts(start: number, end: number): MysqlToken[] {
    return this.#draft.tokens.slice(start, end).filter((token) => !isOperator(token, "."));
  }

  #table(start: number, end: number): void {
    const { tokens } = this.#draft;
    // A table function.
    if (isOperator(tokens[end], "(")) return;
    const parts = this.#parts(start, end).map(({ value }) => value);
    const first = parts[0]!;
    const information = parts.length > 1 ? first : (this.#database ?? "");
    if (information.toLowerCase() === informationSchema && parts.length <= 2) {
      this.#information(start, end, parts.at(-1)!, parts.at(-1)!);
      return;
    }
    // The server's own database, of which there are some tables without rows.
    if (first.toLowerCase() === "mysql" && this.#informationTable(parts.join(".").toUpperCase()) !== undefined) {
      this.#information(start, end, parts.join("."), parts.at(-1)!);
      return;
    }
    if (parts.length > 1 && (!isTableSchema(first) || parts.length > 2)) {
      this.#use(first, start);
      parts.shift();
    } else this.#local = true;
    const [schema, name] = parts.length === 1 ? splitName(parts[0]!) : parts;
    if (name !== undefined) this.#replace(start, end, `${quoteName(schema!)}.${quoteName(name)}`);
    else if (end > start + 1) this.#replace(start, end, quoteName(parts[0]!));
  }

  /** `database.table.column`, and a column of a table that stands for a stream or link. */
  #column(start: number, end: number): void {
    const { tokens, out } = this.#draft;
    const first = tokens[start]!;
    if (end - start >= 5 && (first.value === this.named || (first.value === this.#database && !this.named))) {
      this.#draft.drop(start, start + 2);
      return;
    }
    const [schema, name] = first.kind === "word" ? [] : splitName(first.value);
    if (name !== undefined && end > start + 1) out[start] = `${quoteName(schema!)}.${quoteName(name)}`;
  }

  #information(start: number, end: number, table: string, name: string): void {
    const { tokens } = this.#draft;
    const query = this.#informationTable(table.toUpperCase());
    if (query === undefined) throw syntax(`Unknown table '${table}' in information_schema`, tokens[start]!.start);
    const next = tokens[end];
    const aliased = isWord(next, "AS") || (isName(next) && !isWord(next, ...noAlias));
    this.#replace(start, end, aliased ? `(${query})` : `(${query}) AS ${quoteName(name)}`);
  }

  #use(database: string, at: number): void {
    if (database === this.#database && this.named === undefined) {
      this.#local = true;
      return;
    }
    if (this.#local || (this.named !== undefined && this.named !== database)) {
      throw syntax("the tables of a statement must be of one database", this.#draft.tokens[at]!.start);
    }
    this.named = database;
  }

  #replace(start: number, end: number, text: string): void {
    this.#draft.drop(start, end);
    this.#draft.out[start] = text;
  }
}

/** Clients see a stream `s` as the table `streams.s`, since to them a database has no schemas. */
export function splitName(name: string): [string] | [string, string] {
  const dot = name.indexOf(".");
  const schema = name.slice(0, dot);
  return dot > 0 && isTableSchema(schema) && dot + 1 < name.length ? [schema, name.slice(dot + 1)] : [name];
}
