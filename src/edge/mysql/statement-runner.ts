import type { Principal } from "../../engine/auth/principal.ts";
import { faultOf } from "../../engine/sql/fault.ts";
import type { Sql, SqlDescription, SqlParameter } from "../../engine/sql/sql.ts";
import { readValue } from "../../engine/sql/value.ts";
import type { SessionBytes } from "../wire/byte-budget.ts";
import type { WireConnection } from "../wire/connection.ts";
import { type Catalog, informationSchema } from "./catalog.ts";
import { constantSelect, type SessionFunctions } from "./constant-select.ts";
import type { Statement } from "./dialect/lexer.ts";
import { isWord, lexMysql, type MysqlToken, splitMysql } from "./dialect/lexer.ts";
import { type MysqlContext, type MysqlRewrite, rewriteMysql } from "./dialect/rewrite.ts";
import { mysqlError } from "./error.ts";
import { explained, isExplain, planColumns, planTable } from "./explain.ts";
import { informationQueries, isEmptyTable, isInformationTable, literal } from "./information-schema.ts";
import { narrowed, withoutGroups } from "./information-scope.ts";
import { mysqlLimits } from "./limits.ts";
import { NamedStatements } from "./named-statements.ts";
import type { ProcessList } from "./process-list.ts";
import { type Cell, limitRows, type Rows, rowsOf, type Table } from "./rows.ts";
import { setStatement } from "./set-statement.ts";
import { checkTables, describe as describeTable, show } from "./show.ts";
import type { Variables } from "./variables.ts";

/** Who asks, and what of the session a statement may read and change. */
export interface SessionState {
  readonly connectionId: number;
  readonly principal: Principal;
  readonly user: string;
  readonly host: string;
  readonly variables: Variables;
  database: string | undefined;
  inTransaction: boolean;
}

export interface RunnerDeps {
  readonly sql: Sql;
  readonly catalog: Catalog;
  readonly processes: ProcessList;
  readonly connection: Pick<WireConnection, "cipher">;
}

/** What SET waits for an expression at most. */
const evaluateMsMax = 30_000;

/** Undefined: done, and there are no rows. */
export type Outcome = Rows | undefined;

/** Runs statements of MySQL's dialect: what is about the session or the catalogue here, everything else in the engine. */
export class StatementRunner {
  readonly #deps: RunnerDeps;
  readonly #state: SessionState;
  readonly #named: NamedStatements;

  constructor(deps: RunnerDeps, state: SessionState, statementBytes: SessionBytes) {
    this.#named = new NamedStatements(statementBytes);
    this.#deps = deps;
    this.#state = state;
  }

  parse(source: string): Statement[] {
    const statements = splitMysql(lexMysql(source, this.#state.variables)).map((tokens) => ({ source, tokens }));
    if (statements.length === 0) throw mysqlError("emptyQuery", "Query was empty");
    return statements;
  }

  async run(statement: Statement, params: readonly SqlParameter[], signal: AbortSignal): Promise<Outcome> {
    if (isWord(statement.tokens[0], "EXECUTE")) {
      const named = this.#named.execute(statement.tokens, this.#state.variables);
      return this.run(named.statement, named.params, signal);
    }
    const isLocal = !isWord(statement.tokens[0], "SELECT") || params.every(isLiteral);
    const table = isLocal ? await this.#local(withParameters(statement, params)) : undefined;
    if (table !== undefined) return table === "ok" ? undefined : rowsOf(table);
    const { query, namespace, strings } = await this.#rewrite(statement);
    const { sql } = this.#deps;
    const all = [...params, ...strings.map((value): SqlParameter => ({ value, type: { kind: "text" } }))];
    const result = await sql.run(
      { namespace, query, params: all, token: [], consistency: "strong", dialect: "mysql" },
      signal,
    );
    if (isExplain(statement.tokens)) return rowsOf(await planTable(result));
    const limit = Number(this.#state.variables.get("sql_select_limit"));
    return Number.isSafeInteger(limit) && limit >= 0 ? limitRows(result, limit) : result;
  }

  /** What a statement takes and gives, for COM_STMT_PREPARE. */
  async describe(statement: Statement, signal: AbortSignal): Promise<Pick<SqlDescription, "columns" | "parameters">> {
    const parameters = statement.tokens.filter(({ kind }) => kind === "parameter").map(() => undefined);
    // Preparing changes nothing: what has no rows is not run.
    if (this.#isCommand(statement.tokens)) return { columns: [], parameters };
    const known = parameters.length === 0 ? await this.#local(statement) : undefined;
    if (known !== undefined) return { columns: known === "ok" ? [] : known.columns, parameters };
    if (isWord(statement.tokens[0], "SHOW")) return { columns: [], parameters };
    const { query, namespace } = await this.#rewrite(statement);
    try {
      const found = await this.#deps.sql.describe({ namespace, query, params: [], dialect: "mysql" }, signal);
      const columns = isExplain(statement.tokens) ? planColumns : found.columns;
      // Strings that stand beside the query are not the client's to fill.
      return { columns, parameters: parameters.map((_, i) => found.parameters[i]) };
    } catch (error) {
      // A column whose type is that of a parameter is known only when it runs; then its columns are sent with its rows.
      if (faultOf(error)?.kind === "unsupported" && parameters.length > 0) return { columns: [], parameters };
      throw error;
    }
  }

  /** Forgets what the session has prepared. */
  reset(): void {
    this.#named.clear();
  }

  use(database: string): void {
    const { principal, user } = this.#state;
    this.#deps.catalog.open(principal, user, database);
    this.#state.database = database;
  }

  #isCommand(tokens: readonly MysqlToken[]): boolean {
    if (isWord(tokens[0], "START")) return isWord(tokens[1], "TRANSACTION");
    if (isWord(tokens[0], "DROP")) return isWord(tokens[1], "PREPARE");
    // What is only read needs no lock; one to write with is refused as every write is.
    if (isWord(tokens[0], "LOCK")) return !tokens.some((token) => isWord(token, "WRITE"));
    return isWord(tokens[0], ...commands);
  }

  /** The answer of what the edge answers itself: a table, or "ok" without one. */
  async #local({ source, tokens }: Statement): Promise<Table | "ok" | undefined> {
    const { variables } = this.#state;
    const [first] = tokens;
    if (this.#isCommand(tokens)) {
      await this.#command({ source, tokens });
      return "ok";
    }
    if (isWord(first, "SHOW")) return show(tokens, { ...this.#deps, ...this.#state });
    if (isWord(first, "CHECK", "ANALYZE") && isWord(tokens[1], "TABLE")) {
      return checkTables(tokens, { ...this.#deps, ...this.#state });
    }
    if (isExplain(tokens)) return describeTable(tokens, { ...this.#deps, ...this.#state });
    if (isWord(first, "SELECT")) return constantSelect(source, tokens, variables, this.#functions);
    return undefined;
  }

  async #command({ source, tokens }: Statement): Promise<void> {
    const state = this.#state;
    switch (tokens[0]!.value.toUpperCase()) {
      case "SET":
        await setStatement(tokens, state.variables, (expression) => this.#evaluate({ source, tokens: expression }));
        return;
      case "PREPARE":
        await this.#named.prepare(
          tokens,
          state.variables,
          (text) => this.parse(text),
          (statement) => this.describe(statement, AbortSignal.timeout(evaluateMsMax)),
        );
        return;
      case "DEALLOCATE":
      case "DROP":
        this.#named.drop(tokens);
        return;
      case "USE":
        if (tokens.length !== 2) throw mysqlError("syntax", "You have an error in your SQL syntax: USE takes one name");
        this.use(tokens[1]!.value);
        return;
      case "KILL":
        this.#kill(tokens);
        return;
      case "BEGIN":
      case "START":
        state.inTransaction = true;
        return;
      case "COMMIT":
      case "ROLLBACK":
        if (!isWord(tokens[1], "TO")) state.inTransaction = false;
        return;
    }
  }

  /** The value of an expression by a SELECT of it. */
  async #evaluate({ source, tokens }: Statement): Promise<Cell> {
    const select: MysqlToken = { ...tokens[0]!, kind: "word", value: "SELECT" };
    // In brackets: the word before has no place of its own in the source.
    const open: MysqlToken = { ...tokens[0]!, kind: "operator", value: "(" };
    const close: MysqlToken = { ...tokens.at(-1)!, kind: "operator", value: ")" };
    const signal = AbortSignal.timeout(evaluateMsMax);
    const rows = await this.run({ source, tokens: [select, open, ...tokens, close] }, [], signal);
    if (rows === undefined) return null;
    await using result = rows;
    const batch = await result.next();
    const value = batch === undefined ? null : readValue(batch.columns[0]!, 0);
    if (typeof value === "bigint" || typeof value === "boolean") {
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    }
    return value === null || typeof value === "number" ? value : String(value);
  }

  #kill(tokens: readonly MysqlToken[]): void {
    const query = isWord(tokens[1], "QUERY");
    const id = tokens[query || isWord(tokens[1], "CONNECTION") ? 2 : 1];
    if (id?.kind !== "number") throw mysqlError("syntax", "You have an error in your SQL syntax: KILL takes an id");
    this.#deps.processes.kill(this.#state.principal, Number(id.value), !query);
  }

  async #rewrite(
    statement: Statement,
  ): Promise<Pick<MysqlRewrite, "query" | "strings"> & { readonly namespace: string }> {
    const { source } = statement;
    const { catalog } = this.#deps;
    const { principal, user, database } = this.#state;
    let tokens = explained(statement.tokens);
    const named = new Set<string>();
    let rewritten = rewriteMysql(
      source,
      tokens,
      this.#context((name) => {
        if (!isInformationTable(name)) return undefined;
        named.add(name);
        return "";
      }),
    );
    // Of no rows there are no groups: what is not grouped by may be named, as tools do without ONLY_FULL_GROUP_BY.
    if (named.size > 0 && [...named].every(isEmptyTable)) tokens = withoutGroups(tokens);
    if (named.size > 0) {
      const databases = narrowed(tokens, named.size, catalog.databases(principal));
      const queries = await informationQueries([...named], databases, catalog);
      rewritten = rewriteMysql(
        source,
        tokens,
        this.#context((name) => queries.get(name)),
      );
    }
    const namespace = this.#namespaceOf(rewritten, named.size > 0);
    if (rewritten.database !== undefined || database !== undefined) catalog.openNamespace(principal, user, namespace);
    return { query: rewritten.query, strings: rewritten.strings, namespace };
  }

  /** Without a database in use a statement over information_schema alone runs in any that may be seen. */
  #namespaceOf({ database: named }: MysqlRewrite, information: boolean): string {
    const { database, principal } = this.#state;
    const wanted = named ?? (database?.toLowerCase() === informationSchema ? undefined : database);
    if (wanted !== undefined) return wanted;
    const any = information || database !== undefined ? this.#deps.catalog.databases(principal)[1] : undefined;
    if (any === undefined) throw mysqlError("noDatabase", "No database selected");
    return any;
  }

  #context(informationTable: MysqlContext["informationTable"]): MysqlContext {
    const { variables, database } = this.#state;
    let characters = 0;
    /** A variable that is named thousands of times becomes a text that no statement may have. */
    const written = (value: Cell) => {
      const text = literal(value);
      characters += text.length;
      if (characters > mysqlLimits.variablesCharactersMax * 16) {
        throw mysqlError("wrongValue", "The values of the statement's variables are too long together");
      }
      return text;
    };
    return {
      database,
      variable: (name) => written(variables.get(name)),
      userVariable: (name) => written(variables.userVariable(name)),
      sessionFunction: (name) => {
        const value = this.#functions(name);
        return value === undefined ? undefined : literal(value);
      },
      informationTable,
    };
  }

  readonly #functions: SessionFunctions = (name) => {
    const { connectionId, user, host, database, variables } = this.#state;
    switch (name) {
      case "DATABASE":
      case "SCHEMA":
        return database ?? null;
      case "USER":
      case "SESSION_USER":
      case "SYSTEM_USER":
        return `${user}@${host}`;
      case "CURRENT_USER":
        return `${user}@%`;
      case "VERSION":
        return variables.facts.version;
      case "CONNECTION_ID":
        return connectionId;
      case "LAST_INSERT_ID":
      case "FOUND_ROWS":
      case "ROW_COUNT":
        return 0;
      default:
        return undefined;
    }
  };
}

const commands = [
  "SET",
  "USE",
  "KILL",
  "BEGIN",
  "START",
  "COMMIT",
  "ROLLBACK",
  "SAVEPOINT",
  "RELEASE",
  "UNLOCK",
  "PREPARE",
  "DEALLOCATE",
];

/** Whether the edge has a literal for a value; bytes, dates and the like would come back as text. */
function isLiteral({ value, type }: SqlParameter): boolean {
  if (typeof value === "string") return type === undefined || type.kind === "text";
  return value === null || typeof value === "number" || typeof value === "bigint";
}

/** Parameters of what the edge answers itself stand in it as literals. */
function withParameters(statement: Statement, params: readonly SqlParameter[]): Statement {
  if (params.length === 0) return statement;
  let at = 0;
  const tokens = statement.tokens.map((token): MysqlToken => {
    if (token.kind !== "parameter") return token;
    const value = params[at++]?.value ?? null;
    if (value === null) return { ...token, kind: "word", value: "NULL" };
    if (typeof value === "number" || typeof value === "bigint")
      return { ...token, kind: "number", value: String(value) };
    return { ...token, kind: "string", value: String(value) };
  });
  return { source: statement.source, tokens };
}
