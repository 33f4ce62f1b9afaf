import { isTableSchema, type TableSchema } from "../../engine/sql/columns.ts";
import type { Sql, SqlDescription, SqlResult } from "../../engine/sql/sql.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import { emptyToken, parseToken } from "../../engine/token.ts";
import { constantResult } from "./constant.ts";
import { tableOid } from "./dialect/oids.ts";
import { plainOrigin } from "./dialect/origin.ts";
import { characters, PostgresError, postgresError } from "./error.ts";
import type { FieldSource } from "./message/backend.ts";
import { parameterType } from "./message/oid.ts";
import { castParameters, listParameters, vectorParameters, vectorType } from "./parameter-types.ts";
import type { Portal } from "./portal.ts";
import type { PreparedStatement } from "./prepared-statements.ts";
import { type DeclaredTypes, rewrite, type SessionFacts } from "./rewrite.ts";
import type { Settings } from "./settings.ts";

const text: SqlType = { kind: "text" };
const int: SqlType = { kind: "int64" };
const listOf = (item: SqlType): SqlType => ({ kind: "list", item });

/** What parameters of no type are taken for, one after another: those that must be lists, and all others. */
const guesses: readonly { readonly list: SqlType; readonly other: SqlType }[] = [
  { list: listOf(text), other: text },
  { list: listOf(int), other: text },
  { list: listOf(text), other: int },
  { list: listOf(int), other: int },
  { list: listOf(text), other: listOf(text) },
  { list: listOf(int), other: listOf(int) },
  { list: listOf({ kind: "float64" }), other: listOf({ kind: "float64" }) },
];

export type CancelCause = "request" | "timeout" | "gone";

export interface RunnerInit {
  readonly sql: Sql;
  readonly facts: SessionFacts;
  readonly settings: Settings;
}

/** Hands a session's statements to the engine, one at a time, with the session's time limit and its right to cancel. */
export class StatementRunner {
  readonly #sql: Sql;
  readonly #facts: SessionFacts;
  readonly #settings: Settings;
  #current: AbortController | undefined;
  /** The tables of the namespace as they last were, where the search path asks for them. */
  #tables: ReadonlySet<string> = new Set();
  /** The client has gone: what it has asked for before is not begun any more. */
  #isOver = false;

  constructor({ sql, facts, settings }: RunnerInit) {
    this.#sql = sql;
    this.#facts = facts;
    this.#settings = settings;
  }

  /** Stops what runs now; nothing, when nothing does. */
  cancel(cause: CancelCause): void {
    if (cause === "gone") this.#isOver = true;
    this.#current?.abort(cause);
  }

  /**
   * What a statement takes and gives, with the types that the client has given to parameters. Where nothing tells one,
   * it is text if that fits, as in Postgres, or else the first of some others.
   */
  async describe(prepared: PreparedStatement): Promise<SqlDescription> {
    await this.#prepare();
    const constant = constantResult(prepared.statement!);
    if (constant !== undefined) return { kind: "select", columns: constant.columns, parameters: [] };
    const cast = castParameters(prepared.statement!);
    const oids = Array.from({ length: prepared.parameterCount }, (_, i) =>
      parameterType(prepared.types[i] || (cast.get(i) ?? 0)),
    );
    const vectors = vectorParameters(prepared.statement!);
    const uncast = (types: readonly (SqlType | undefined)[]) =>
      types.map((type, i) => (vectors.has(i) ? undefined : type));
    const first = await this.#describeAs(prepared, uncast(oids));
    const types = oids.map((type, i) => type ?? (vectors.has(i) ? vectorType : first.parameters[i]));
    if (types.every((type) => type !== undefined)) return { ...first, parameters: types };
    const lists = listParameters(prepared.statement!);
    for (const { list, other } of guesses) {
      const guessed = types.map((type, i) => type ?? (lists.has(i) ? list : other));
      try {
        return { ...(await this.#describeAs(prepared, uncast(guessed))), parameters: guessed };
      } catch (error) {
        if (!(error instanceof PostgresError) || error.code.startsWith("57")) throw error;
      }
    }
    return { ...first, parameters: types };
  }

  async #describeAs(prepared: PreparedStatement, types: readonly (SqlType | undefined)[]): Promise<SqlDescription> {
    const found = await this.#describeDeclared(prepared, { types });
    // Some functions tell their type only of values: of NULLs then, which have the same.
    if (!isUnknown(found) || types.some((type) => type === undefined)) return found;
    const { columns } = await this.#describeDeclared(prepared, { types, asNulls: true });
    return { ...found, columns };
  }

  async #describeDeclared(prepared: PreparedStatement, types: DeclaredTypes): Promise<SqlDescription> {
    const abort = new AbortController();
    const query = rewrite(prepared.statement!, this.#facts, this.#settings, this.#tables, types);
    return this.#guarded(prepared, abort, () =>
      this.#sql.describe(
        { namespace: this.#facts.namespace, query: query.text, params: [], dialect: "postgres" },
        abort.signal,
      ),
    );
  }

  /** Which columns of a table those of a plain statement are; nothing for any other. */
  sources({ statement }: PreparedStatement): readonly (FieldSource | undefined)[] {
    const origin = statement === undefined ? undefined : plainOrigin(statement);
    if (origin === undefined) return [];
    const [first, more] = this.#settings.searchPath;
    const schema =
      origin.schema ?? (more === undefined && isTableSchema(first ?? "") ? (first as TableSchema) : undefined);
    const { namespace } = this.#facts;
    const columns = schema === undefined ? undefined : this.#sql.columnsOf(namespace, schema, origin.table);
    if (schema === undefined || columns === undefined) return [];
    const table = tableOid(schema, origin.table);
    const all = columns.map((_, i) => ({ table, column: i + 1 }));
    return origin.items.flatMap((item) => {
      if (item === "*") return all;
      return [all[columns.findIndex(({ name }) => name === item)]];
    });
  }

  async #prepare(): Promise<void> {
    if (this.#settings.searchPath.length < 2) return;
    const tables = await this.#sql.tables(this.#facts.namespace);
    this.#tables = new Set(tables.map(({ schema, name }) => `${schema}.${name.toLowerCase()}`));
  }

  /** The answer to what needs no engine. */
  constant(portal: Portal): SqlResult | undefined {
    return constantResult(portal.statement.statement!);
  }

  async run(portal: Portal): Promise<SqlResult> {
    await this.#prepare();
    const query = this.#rewritten(portal.statement);
    return this.guard(portal, () =>
      this.#sql.run(
        {
          namespace: this.#facts.namespace,
          query: query.text,
          params: portal.parameters,
          token: this.#token(),
          consistency: this.#settings.get("service.consistency") === "eventual" ? "eventual" : "strong",
          dialect: "postgres",
        },
        portal.abort.signal,
      ),
    );
  }

  /** Runs a part of a portal's statement so that it can be cancelled and ends in time. */
  guard<T>(portal: Portal, work: () => Promise<T>): Promise<T> {
    return this.#guarded(portal.statement, portal.abort, work);
  }

  async #guarded<T>(prepared: PreparedStatement, abort: AbortController, work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw cancelled("gone");
    const timeoutMs = this.#settings.statementTimeoutMs;
    const timer = timeoutMs === 0 ? undefined : setTimeout(() => abort.abort("timeout"), timeoutMs);
    this.#current = abort;
    try {
      return await work();
    } catch (error) {
      if (abort.signal.aborted) throw cancelled(abort.signal.reason as CancelCause);
      throw this.#replyTo(error, prepared);
    } finally {
      clearTimeout(timer);
      this.#current = undefined;
    }
  }

  #rewritten(prepared: PreparedStatement) {
    return rewrite(prepared.statement!, this.#facts, this.#settings, this.#tables);
  }

  #token() {
    const text = this.#settings.get("service.consistency_token") ?? "[]";
    return text === "[]" ? emptyToken : parseToken("service.consistency_token", text);
  }

  /** Positions are reported in the text that the client sent. */
  #replyTo(error: unknown, prepared: PreparedStatement): PostgresError {
    const reply = postgresError(error);
    if (reply.position === undefined) return reply;
    const { code, message, hint, detail } = reply;
    const inStatement = this.#rewritten(prepared).originalOf(reply.position - 1);
    const position = characters(prepared.source, prepared.statement!.start + inStatement) + 1;
    return new PostgresError(code, message, { hint, detail, position, cause: error });
  }
}

/** What the engine says where it can't tell the columns. */
function isUnknown({ columns }: SqlDescription): boolean {
  return columns.length === 1 && columns[0]!.name === "unknown" && columns[0]!.type.kind === "null";
}

function cancelled(cause: CancelCause): PostgresError {
  const why = cause === "timeout" ? "statement timeout" : "user request";
  return new PostgresError("57014", `canceling statement due to ${why}`);
}
