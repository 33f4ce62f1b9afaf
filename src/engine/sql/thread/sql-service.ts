import type { Store } from "../../../port/store.ts";
import { type ThreadService, Transferred } from "../../../port/threads.ts";
import { EngineError } from "../../errors.ts";
import { readCounters } from "../../link/counter-target.ts";
import { linkColumns, streamColumns } from "../columns.ts";
import { sqlFault } from "../fault.ts";
import type {
  DescribeReply,
  LinkTable,
  NamespaceRef,
  NextReply,
  RunReply,
  SqlMessage,
  StatementNeeds,
  StatementText,
  StreamTable,
  TableDefinition,
} from "../messages.ts";
import type { SqlSettings } from "../settings.ts";
import type { SqlParameter } from "../sql.ts";
import { readValue, typeName } from "../value.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { CollectionTables } from "./collection-tables.ts";
import { duckFault } from "./duck-fault.ts";
import { columnType, parameterType } from "./duck-type.ts";
import { type Connection, Database, lib, type Prepared, Type } from "./duckdb.ts";
import { type Edit, EditedQuery } from "./edits.ts";
import { buffersOf } from "./join-batches.ts";
import { columnList, NamespaceDatabase } from "./namespace-database.ts";
import { castEdits, parameterValue } from "./parameters.ts";
import { planStatement, quote, type SerializedSql, type StatementPlan, type TableRef } from "./plan-statement.ts";
import { readChunk } from "./read-chunk.ts";
import { Statement } from "./statement.ts";
import { writeRecords } from "./stream-rows.ts";

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
  #parser: Promise<Prepared> | undefined;
  #parsing: Promise<unknown> = Promise.resolve();
  #clock = 0;

  constructor(store: Store, settings: SqlSettings) {
    this.#store = store;
    this.#settings = settings;
  }

  async handle(message: unknown): Promise<unknown> {
    const asked = message as SqlMessage;
    switch (asked.kind) {
      case "plan":
        return (await this.#plan(asked)).needs satisfies StatementNeeds;
      case "describe":
        return this.#describe(asked);
      case "run":
        return this.#run(asked);
      case "next":
        return this.#next(asked.statement);
      case "cancel":
        this.#statements.get(asked.statement)?.statement.stop(asked.why);
        return undefined;
      case "close":
        this.#close(asked.statement);
        return undefined;
      case "forget":
        return this.#forget(asked.namespace);
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

  /** One after another, since a prepared statement holds the values of one. */
  #parse(query: string): Promise<SerializedSql> {
    const done = this.#parsing.then(async () => {
      this.#parser ??= openParser();
      const parser = await this.#parser;
      parser.bind(1, lib.create_varchar(query));
      const result = await parser.stream();
      const { columns } = readChunk(textColumn, (await result.next())!);
      const text = readValue(columns[0]!, 0) as string;
      // To its end, so that the next one finds the connection free.
      await result.next();
      return JSON.parse(text) as SerializedSql;
    });
    this.#parsing = done.catch(() => {});
    return done;
  }

  async #describe(asked: Extract<SqlMessage, { kind: "describe" }>): Promise<DescribeReply> {
    const plan = await this.#plan(asked);
    return this.#with(asked, async (open) => {
      await this.#defineAll(open.namespace, asked.tables, asked.catalog);
      const edited = new EditedQuery(plan.query, [...plan.edits, ...nameEdits(plan.refs)]);
      const prepared = await this.#prepare(open, edited);
      try {
        const columns = prepared.columns.map(({ name, type }) => ({ name, type: columnType(type).type }));
        const parameters: DescribeReply["parameters"][number][] = new Array(plan.needs.parameters).fill(undefined);
        prepared.parameters.forEach((name, i) => {
          parameters[Number(name) - 1] = parameterType(prepared.parameterType(i + 1));
        });
        open.statement.isDone = true;
        return { columns, parameters };
      } finally {
        prepared.close();
      }
    });
  }

  async #run(asked: Extract<SqlMessage, { kind: "run" }>): Promise<Transferred> {
    const plan = await this.#plan(asked);
    if (asked.params.length !== plan.needs.parameters) {
      throw sqlFault("parameter", `has ${asked.params.length} values for ${plan.needs.parameters} parameters`, {
        field: "params",
      });
    }
    const open = await this.#open(asked);
    try {
      await this.#defineAll(open.namespace, asked.tables, asked.catalog);
      const edits = await this.#load(open, plan, asked.tables);
      const casts = castEdits(plan.query, asked.params);
      const edited = new EditedQuery(plan.query, [...plan.edits, ...edits, ...casts]);
      const prepared = await this.#prepare(open, edited);
      try {
        bindAll(prepared, asked.params);
        const columns = await open.statement.start(prepared).catch((error: unknown) => {
          throw duckFault(open.statement.faultOf(error), edited);
        });
        const reply = await this.#next(asked.statement);
        return new Transferred({ columns, ...(reply.value as NextReply) } satisfies RunReply, reply.transfer);
      } finally {
        prepared.close();
      }
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

  async #open({ namespace, dialect, statement: id }: StatementText & { readonly statement: number }): Promise<Open> {
    const opened = await this.#namespace(namespace);
    const statement = new Statement();
    const open: Open = { statement, namespace: opened, dialect };
    opened.database.uses++;
    this.#statements.set(id, open);
    try {
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
    namespace.database.uses--;
    const { connection } = statement;
    if (connection === undefined) return;
    // What is under way ends at once, so that its memory is given back.
    if (!statement.isDone) connection.interrupt();
    namespace.database.giveBack(dialect, connection, statement.isDone && !statement.hasTables);
  }

  async #prepare({ statement }: Open, edited: EditedQuery): Promise<Prepared> {
    statement.check();
    let prepared: Prepared;
    try {
      prepared = await statement.connection!.prepare(edited.text);
    } catch (error) {
      throw duckFault(statement.faultOf(error), edited);
    }
    // The guard has read the statement; this is what DuckDB itself takes it for.
    if (!prepared.isRead) {
      prepared.close();
      throw sqlFault("read_only", "only SELECT, WITH, EXPLAIN, DESCRIBE and SHOW can be run");
    }
    return prepared;
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

  async #used(open: OpenNamespace): Promise<OpenNamespace> {
    open.database.lastUse = ++this.#clock;
    if (this.#namespaces.size <= this.#settings.namespacesMax) return open;
    const all = await Promise.all(this.#namespaces.values());
    const idle = all.filter(({ database }) => database.uses === 0 && database !== open.database);
    idle.sort((a, b) => a.database.lastUse - b.database.lastUse);
    for (const { database } of idle.slice(0, all.length - this.#settings.namespacesMax)) {
      this.#namespaces.delete(database.namespace.id);
      database.close();
    }
    return open;
  }

  async #forget(namespace: number): Promise<void> {
    const open = await this.#namespaces.get(namespace);
    if (open === undefined || open.database.uses > 0) return;
    this.#namespaces.delete(namespace);
    open.database.close();
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
    for (const [i, ref] of plan.refs.entries()) {
      const table = tables.find(
        (each) => each.schema === ref.schema && each.name.toLowerCase() === ref.name.toLowerCase(),
      );
      if (table === undefined) continue;
      if (table.schema === "collections") {
        if (ref.read) await namespace.collections.load(table, plan.columns, statement.check);
        edits.push(...nameEdits([ref]));
      } else if (ref.read) {
        statement.hasTables = true;
        const name = `rows_${i}`;
        await this.#fillRows(statement, name, table);
        edits.push(refEdit(ref, `temp.main.${name}`));
      } else edits.push(...nameEdits([ref]));
    }
    return edits;
  }

  async #fillRows(statement: Statement, name: string, table: StreamTable | LinkTable): Promise<void> {
    const connection = statement.connection!;
    const columns = table.schema === "streams" ? streamColumns : linkColumns;
    await connection.run(`CREATE TEMP TABLE ${name} (${columnList(columns)})`);
    const rows = new ChunkWriter(connection.appender("temp", "main", name));
    using snapshot = this.#store.snapshot();
    if (table.schema === "streams") {
      const budget = { bytesMax: this.#settings.streamBytesMax };
      await writeRecords(table, snapshot, rows, budget, statement.check);
    } else if (table.counter) {
      for (const { name, value } of readCounters(table.id, snapshot)) rows.add([name, value]);
    }
    rows.close();
  }
}

function bindAll(prepared: Prepared, params: readonly SqlParameter[]): void {
  prepared.parameters.forEach((name, i) => {
    const at = Number(name) - 1;
    const param = params[at];
    if (param !== undefined) prepared.bind(i + 1, parameterValue(param, `params[${at}]`));
  });
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
  for (const name of [...open.collections.names]) {
    if (!there.has(`collections.${quote(name)}`)) await open.collections.drop(name);
  }
  for (const key of [...open.views]) {
    if (there.has(key)) continue;
    open.views.delete(key);
    await database.exclusively(() => database.writer.run(`DROP VIEW IF EXISTS ${key}`));
  }
}

const textColumn = [{ id: Type.VARCHAR, type: { kind: "text" }, children: [] }] as const;
const parserLimits = { memoryBytes: 128 * 1024 * 1024, threads: 1 };

/** Parsing needs a database, but none of anybody's tables. */
async function openParser(): Promise<Prepared> {
  const database = await Database.open(parserLimits);
  const connection: Connection = await database.connect();
  return connection.prepare("SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_default := true)::VARCHAR");
}
