import type { Store } from "../../../port/store.ts";
import { type ThreadService, Transferred } from "../../../port/threads.ts";
import { EngineError, unavailable } from "../../errors.ts";
import { readCounters } from "../../link/counter-target.ts";
import { linkColumns, streamColumns } from "../columns.ts";
import { sqlFault } from "../fault.ts";
import type {
  DescribeReply,
  LinkTable,
  NamespaceRef,
  NextReply,
  PlanReply,
  RunReply,
  SqlMessage,
  StatementText,
  StreamTable,
  TableDefinition,
} from "../messages.ts";
import type { FoundDocuments } from "../retrieval.ts";
import type { SqlSettings } from "../settings.ts";
import type { SqlParameter, SqlValue } from "../sql.ts";
import { typeName } from "../value.ts";
import type { Evaluate } from "./arguments.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { CollectionTables } from "./collection-tables.ts";
import { duckFault } from "./duck-fault.ts";
import { columnType, parameterType } from "./duck-type.ts";
import type { Prepared } from "./duckdb.ts";
import { type Edit, EditedQuery } from "./edits.ts";
import { type FoundColumns, foundColumns, writeFound } from "./found-rows.ts";
import { buffersOf } from "./join-batches.ts";
import type { Token } from "./lexer.ts";
import { columnList, NamespaceDatabase } from "./namespace-database.ts";
import { numberParameters, parameterValue } from "./parameters.ts";
import { Parser } from "./parser.ts";
import { planStatement, quote, type SerializedSql, type StatementPlan, type TableRef } from "./plan-statement.ts";
import { plannedRetrieval } from "./planned-retrieval.ts";
import type { RetrievalRef } from "./retrieval-refs.ts";
import { Statement, type StopReason } from "./statement.ts";
import { type StreamBudget, writeRecords } from "./stream-rows.ts";

/** What a statement without tables needs. */
const nothing = { tables: [], catalog: undefined, found: [] } as const;

const stoppedEarlyMax = 1_000;

/** Plans that are kept for statements that come again, and the longest text of one. */
const plansMax = 500;
const planLengthMax = 10_000;

interface OpenNamespace {
  readonly database: NamespaceDatabase;
  readonly collections: CollectionTables;
  /** Views of streams and links by `schema.name`. */
  readonly views: Set<string>;
}

interface Open {
  readonly statement: Statement;
  readonly namespace: OpenNamespace;
  readonly dialect: StatementText["dialect"];
}

/** Runs statements beside the listener's thread: it parses, keeps the tables and turns results into columns. */
export class SqlService implements ThreadService {
  readonly #store: Store;
  readonly #settings: SqlSettings;
  readonly #namespaces = new Map<number, Promise<OpenNamespace>>();
  readonly #statements = new Map<number, Open>();
  readonly #plans = new Map<string, StatementPlan>();
  /** Statements that were stopped before they were open. */
  readonly #stoppedEarly = new Map<number, StopReason>();
  readonly #parser = new Parser();
  #clock = 0;
  /** Messages that are being answered. */
  readonly #active = new Set<Promise<unknown>>();
  #isEnding = false;

  constructor(store: Store, settings: SqlSettings) {
    this.#store = store;
    this.#settings = settings;
  }

  handle(message: unknown): Promise<unknown> {
    const asked = message as SqlMessage;
    if (asked.kind === "end") return this.#end();
    const answer = this.#answer(asked);
    const done: Promise<unknown> = answer.then(
      () => this.#active.delete(done),
      () => this.#active.delete(done),
    );
    this.#active.add(done);
    return answer;
  }

  async #answer(asked: Exclude<SqlMessage, { kind: "end" }>): Promise<unknown> {
    this.#checkEnding();
    switch (asked.kind) {
      case "plan":
        return this.#planned(asked);
      case "describe":
        return this.#describe(asked);
      case "run":
        return this.#run(asked);
      case "next":
        return this.#next(asked.statement);
      case "cancel":
        this.#stop(asked.statement, asked.why);
        return undefined;
      case "close":
        this.#close(asked.statement);
        return undefined;
    }
  }

  #stop(id: number, why: StopReason): void {
    const open = this.#statements.get(id);
    if (open !== undefined) {
      open.statement.stop(why);
      return;
    }
    // It may be about to open; one that is over does not come back for it.
    this.#stoppedEarly.set(id, why);
    if (this.#stoppedEarly.size > stoppedEarlyMax) this.#stoppedEarly.delete(this.#stoppedEarly.keys().next().value!);
  }

  async #planned(asked: Extract<SqlMessage, { kind: "plan" }>): Promise<PlanReply | Transferred> {
    const plan = await this.#plan(asked);
    const { params } = asked;
    if (params !== undefined) checkCount(plan, params);
    const { needs } = plan;
    if (plan.retrievals.length === 0) {
      if (params === undefined || needs.catalog || plan.refs.length > 0)
        return { ...needs, retrievals: [], ran: undefined };
      const { value, transfer } = await this.#run({ ...asked, kind: "run", params, ...nothing });
      return new Transferred({ ...needs, retrievals: [], ran: value as RunReply } satisfies PlanReply, transfer);
    }
    const source = { query: plan.query, tokens: plan.tokens, namespace: asked.namespace.name };
    const evaluate: Evaluate = (expression, given) => this.#evaluate(expression, given);
    try {
      const retrievals = plan.retrievals.map((ref) => plannedRetrieval(ref, source, params, evaluate));
      return { ...needs, retrievals: await Promise.all(retrievals), ran: undefined };
    } catch (error) {
      throw duckFault(error);
    }
  }

  async #plan(text: StatementText): Promise<StatementPlan> {
    const key = `${text.dialect ?? ""}\n${text.namespace.name}\n${text.query}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    let plan: StatementPlan;
    try {
      plan = await planStatement(text, (query) => this.#parse(query));
    } catch (error) {
      throw duckFault(error);
    }
    if (key.length <= planLengthMax) {
      if (this.#plans.size >= plansMax) this.#plans.delete(this.#plans.keys().next().value!);
      this.#plans.set(key, plan);
    }
    return plan;
  }

  async #parse(query: string): Promise<SerializedSql> {
    return JSON.parse((await this.#parser.serialize(query)) as string) as SerializedSql;
  }

  /** A constant expression, in a database that holds nothing. */
  async #evaluate(expression: string, params: readonly SqlParameter[]): Promise<SqlValue> {
    return this.#parser.evaluate(`SELECT (${expression})`, params);
  }

  async #describe(asked: Extract<SqlMessage, { kind: "describe" }>): Promise<DescribeReply> {
    const plan = await this.#plan(asked);
    return this.#with(asked, async (open) => {
      await this.#defineAll(open.namespace, asked.tables, asked.catalog);
      const retrieved = plan.retrievals.map((ref, i) => emptyEdit(ref, foundColumns(asked.found[i]!, plan.columns)));
      const { edited, indexes } = rewritten(plan, [...nameEdits(plan.refs), ...retrieved], []);
      const prepared = await this.#prepare(open, edited, false);
      const columns = prepared.columns.map(({ name, type }) => ({ name, type: columnType(type).type }));
      const parameters: DescribeReply["parameters"][number][] = new Array(plan.needs.parameters).fill(undefined);
      prepared.parameters.forEach((name, i) => {
        parameters[indexes[Number(name) - 1]!] = parameterType(prepared.parameterType(i + 1));
      });
      open.statement.isDone = true;
      return { columns, parameters };
    });
  }

  async #run(asked: Extract<SqlMessage, { kind: "run" }>): Promise<Transferred> {
    // Before anything else: what changed is told in the order of the messages.
    const told = this.#namespace(asked.namespace).then((open) => {
      for (const table of asked.tables) if (table.schema === "collections") open.collections.take(table);
      return open;
    });
    told.catch(() => {});
    const plan = await this.#plan(asked)
      .then((plan) => checkCount(plan, asked.params))
      .catch(async (error: unknown) => {
        (await told).database.uses--;
        throw error;
      });
    const open = await this.#open(asked, await told);
    try {
      await this.#defineAll(open.namespace, asked.tables, asked.catalog);
      const edits = await this.#load(open, plan, asked.tables);
      edits.push(...(await showFound(open.statement, plan, asked.found)));
      const { edited, indexes } = rewritten(plan, edits, asked.params);
      const prepared = await this.#prepare(open, edited, plan.refs.length + plan.retrievals.length === 0);
      bindAll(prepared, indexes, asked.params);
      const columns = await open.statement.start(prepared, plan.isSmall).catch((error: unknown) => {
        throw duckFault(open.statement.faultOf(error), edited);
      });
      const reply = await this.#next(asked.statement);
      return new Transferred({ columns, ...(reply.value as NextReply) } satisfies RunReply, reply.transfer);
    } catch (error) {
      this.#close(asked.statement);
      throw duckFault(open.statement.faultOf(error));
    }
  }

  async #next(id: number): Promise<Transferred> {
    const open = this.#statements.get(id);
    if (open === undefined) throw new EngineError("aborted", "the statement is closed");
    try {
      const reply = await open.statement.next(this.#settings.rowsMax);
      if (reply.done) this.#close(id);
      return new Transferred(reply, reply.batch === undefined ? [] : buffersOf(reply.batch));
    } catch (error) {
      this.#close(id);
      throw duckFault(open.statement.faultOf(error));
    }
  }

  /** Opens a statement for one answer. */
  async #with<T>(asked: StatementText & { readonly statement: number }, work: (open: Open) => Promise<T>): Promise<T> {
    const open = await this.#open(asked);
    try {
      return await work(open);
    } catch (error) {
      throw duckFault(open.statement.faultOf(error));
    } finally {
      this.#close(asked.statement);
    }
  }

  async #open(
    { namespace, dialect, statement: id }: StatementText & { readonly statement: number },
    known?: OpenNamespace,
  ): Promise<Open> {
    const opened = known ?? (await this.#namespace(namespace));
    if (this.#isEnding) opened.database.uses--;
    this.#checkEnding();
    const statement = new Statement();
    const open: Open = { statement, namespace: opened, dialect };
    this.#statements.set(id, open);
    const early = this.#stoppedEarly.get(id);
    if (early !== undefined) statement.stop(early);
    this.#stoppedEarly.delete(id);
    try {
      statement.check();
      statement.connection = await opened.database.connect(dialect);
      statement.check();
    } catch (error) {
      this.#close(id);
      throw duckFault(error);
    }
    return open;
  }

  #close(id: number): void {
    const open = this.#statements.get(id);
    if (open === undefined) return;
    this.#statements.delete(id);
    const { statement, namespace, dialect } = open;
    const { connection } = statement;
    if (connection === undefined) {
      namespace.database.uses--;
      return;
    }
    // What is under way ends at once, so that its memory is given back.
    if (!statement.isDone) connection.interrupt();
    namespace.database.later(
      statement.cleaned().then((clean) => {
        namespace.database.giveBack(dialect, connection, clean);
        namespace.database.uses--;
      }),
    );
  }

  /**
   * `isKept` for statements without tables alone: DuckDB plans with what it knows of a table's values, and a plan that
   * was made before they changed gives wrong ones.
   */
  async #prepare({ statement }: Open, edited: EditedQuery, isKept: boolean): Promise<Prepared> {
    statement.check();
    let prepared: Prepared;
    try {
      const connection = statement.connection!;
      prepared = await statement.busy(isKept ? connection.prepareOnce(edited.text) : connection.prepare(edited.text));
      if (!isKept) statement.prepared = prepared;
    } catch (error) {
      throw duckFault(statement.faultOf(error), edited);
    }
    // The guard has read the statement; this is what DuckDB itself takes it for.
    if (!prepared.isRead) {
      throw sqlFault("read_only", "only SELECT, WITH, EXPLAIN, DESCRIBE and SHOW can be run");
    }
    return prepared;
  }

  #checkEnding(): void {
    if (this.#isEnding) throw unavailable("the server is shutting down");
  }

  #namespace(ref: NamespaceRef): Promise<OpenNamespace> {
    const known = this.#namespaces.get(ref.id);
    if (known !== undefined) return known.then((open) => this.#used(open));
    const { memoryBytes, threads } = this.#settings;
    const opened = NamespaceDatabase.open(ref, { memoryBytes, threads }).then((database): OpenNamespace => {
      return { database, collections: new CollectionTables(database, this.#store), views: new Set() };
    });
    opened.catch(() => this.#namespaces.delete(ref.id));
    this.#namespaces.set(ref.id, opened);
    return opened.then((open) => this.#used(open));
  }

  /** Counts a use, which is given back when its statement is closed; of too many namespaces the idle ones go. */
  async #used(open: OpenNamespace): Promise<OpenNamespace> {
    open.database.uses++;
    open.database.lastUse = ++this.#clock;
    if (this.#namespaces.size <= this.#settings.namespacesMax) return open;
    const all = await Promise.all(this.#namespaces.values());
    const idle = all.filter(({ database }) => database.uses === 0);
    idle.sort((a, b) => a.database.lastUse - b.database.lastUse);
    for (const { database } of idle.slice(0, all.length - this.#settings.namespacesMax)) {
      this.#namespaces.delete(database.namespace.id);
      database.close();
    }
    return open;
  }

  /** Nothing may be under way in the library when the thread ends: it would touch memory that is gone. */
  async #end(): Promise<void> {
    this.#isEnding = true;
    for (const [id, { statement }] of [...this.#statements]) {
      statement.stop("cancelled");
      this.#close(id);
    }
    while (this.#active.size > 0) await Promise.all(this.#active);
    for (const opened of this.#namespaces.values()) {
      const { database } = await opened;
      await database.idle();
      database.close();
    }
    this.#namespaces.clear();
    await this.#parser.close();
  }

  async #defineAll(
    open: OpenNamespace,
    tables: readonly TableDefinition[],
    catalog: readonly TableDefinition[] | undefined,
  ): Promise<void> {
    for (const table of [...tables, ...(catalog ?? [])]) await define(open, table);
    if (catalog !== undefined) await dropOthers(open, catalog);
  }

  /** Brings the rows of the tables into reach; returns how the statement names them. */
  async #load(
    { statement, namespace }: Open,
    plan: StatementPlan,
    tables: readonly TableDefinition[],
  ): Promise<Edit[]> {
    const edits: Edit[] = [];
    const bytesMax = this.#settings.streamBytesMax;
    const budget: StreamBudget = { bytesMax, bytesLeft: bytesMax };
    for (const [i, ref] of plan.refs.entries()) {
      const table = tables.find(
        (each) => each.schema === ref.schema && each.name.toLowerCase() === ref.name.toLowerCase(),
      );
      if (table === undefined) continue;
      if (table.schema === "collections") {
        if (ref.read) await namespace.collections.load(table, plan.columns, statement.check);
        edits.push(...nameEdits([ref]));
      } else if (ref.read) {
        const name = `rows_${i}`;
        statement.tables.push(name);
        await this.#fillRows(statement, plan, i, name, table, budget);
        edits.push(refEdit(ref, `temp.main.${name}`));
      } else edits.push(...nameEdits([ref]));
    }
    return edits;
  }

  async #fillRows(
    statement: Statement,
    plan: StatementPlan,
    ref: number,
    name: string,
    table: StreamTable | LinkTable,
    budget: StreamBudget,
  ): Promise<void> {
    const connection = statement.connection!;
    const columns = table.schema === "streams" ? streamColumns : linkColumns;
    await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columns)})`);
    const rows = new ChunkWriter(connection.appender("temp", "main", name));
    using snapshot = this.#store.snapshot();
    if (table.schema === "streams") {
      const read = table.reads.find((each) => each.ref === ref);
      if (read !== undefined) {
        await writeRecords(table, read, plan.columns, snapshot, rows, budget, statement.check);
      }
    } else if (table.counter) {
      for (const { name, value } of readCounters(table.id, snapshot)) rows.add([name, value]);
    }
    rows.close();
  }
}

function checkCount(plan: StatementPlan, params: readonly SqlParameter[]): StatementPlan {
  const { parameters } = plan.needs;
  if (params.length === parameters) return plan;
  throw sqlFault("parameter", `has ${params.length} values for ${parameters} parameters`, { field: "params" });
}

function bindAll(prepared: Prepared, indexes: readonly number[], params: readonly SqlParameter[]): void {
  prepared.parameters.forEach((name, i) => {
    const at = indexes[Number(name) - 1]!;
    prepared.bind(i + 1, parameterValue(params[at]!, `params[${at}]`));
  });
}

/** The statement with its tables and parameters under the names that they have here. */
function rewritten(plan: StatementPlan, tables: readonly Edit[], params: readonly SqlParameter[]) {
  const changed = [...plan.edits, ...tables];
  const isLeft = (token: Token) => !isWithin(token, changed);
  const { edits, indexes } = numberParameters(plan.query, plan.tokens, params, isLeft);
  return { edited: new EditedQuery(plan.query, [...changed, ...edits]), indexes };
}

/** Whether the text of an edit is gone with that of another. */
function isWithin({ start, end }: Pick<Edit, "start" | "end">, others: readonly Edit[]): boolean {
  return others.some((other) => other.start <= start && end <= other.end);
}

/** Puts what the retrievers found where the statement calls them. */
async function showFound(statement: Statement, plan: StatementPlan, found: readonly FoundDocuments[]): Promise<Edit[]> {
  const edits: Edit[] = [];
  for (const [i, ref] of plan.retrievals.entries()) {
    const columns = foundColumns(found[i]!, plan.columns);
    const name = `found_${i}`;
    statement.tables.push(name);
    const connection = statement.connection!;
    await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columns.all)})`);
    const rows = new ChunkWriter(connection.appender("temp", "main", name));
    writeFound(found[i]!, columns, rows);
    rows.close();
    edits.push(retrievalEdit(ref, `temp.main.${name}`));
  }
  return edits;
}

function emptyEdit(ref: RetrievalRef, { all }: FoundColumns): Edit {
  const cells = all.map(({ name, type }) => `NULL::${typeName(type)} AS ${quote(name)}`);
  return retrievalEdit(ref, `(SELECT ${cells.join(", ")} WHERE false)`);
}

function retrievalEdit({ start, end, alias, call }: RetrievalRef, name: string): Edit {
  return { start, end, text: alias === undefined ? `${name} AS ${quote(call.name)}` : name };
}

/** A table under another name, which the rest of the statement does not notice. */
function refEdit(ref: TableRef, name: string): Edit {
  const text = ref.alias === undefined ? `${name} AS ${quote(ref.name)}` : name;
  return { start: ref.start, end: ref.end, text };
}

/** The namespace's own name before a schema is left out. */
function nameEdits(refs: readonly TableRef[]): Edit[] {
  return refs.filter(({ named }) => named).map((ref) => refEdit(ref, `${ref.schema}.${quote(ref.name)}`));
}

async function define(open: OpenNamespace, table: TableDefinition): Promise<void> {
  if (table.schema === "collections") {
    await open.collections.define(table);
    return;
  }
  const key = `${table.schema}.${quote(table.name)}`;
  if (open.views.has(key)) return;
  open.views.add(key);
  const columns = table.schema === "streams" ? streamColumns : linkColumns;
  const cells = columns.map(({ name, type }) => `NULL::${typeName(type)} AS ${quote(name)}`);
  const { database } = open;
  await database.exclusively(() =>
    database.writer.run(`CREATE OR REPLACE VIEW ${key} AS SELECT ${cells.join(", ")} WHERE false`),
  );
}

async function dropOthers(open: OpenNamespace, catalog: readonly TableDefinition[]): Promise<void> {
  const { database } = open;
  const there = new Set(catalog.map(({ schema, name }) => `${schema}.${quote(name)}`));
  await open.collections.keepOnly(new Set(catalog.map(({ schema, id }) => (schema === "collections" ? id : -1))));
  for (const name of [...open.collections.names]) {
    if (!there.has(`collections.${quote(name)}`)) await open.collections.drop(name);
  }
  for (const key of [...open.views]) {
    if (there.has(key)) continue;
    open.views.delete(key);
    await database.exclusively(() => database.writer.run(`DROP VIEW IF EXISTS ${key}`));
  }
}
