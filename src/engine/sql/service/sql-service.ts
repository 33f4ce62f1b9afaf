import type { ChildService } from "../../../port/children.ts";
import { LruMap } from "../../../port/lru-map.ts";
import type { Store } from "../../../port/store.ts";
import { EngineError, unavailable } from "../../errors.ts";
import type { Dialect, Dialects } from "../dialect.ts";
import { sqlFault } from "../fault.ts";
import { FoundSchemas, foundColumns } from "../found-rows.ts";
import type {
  CheckReply,
  DescribeReply,
  NamespaceRef,
  NextReply,
  PlanReply,
  RunReply,
  SqlMessage,
  StatementText,
} from "../messages.ts";
import type { PlannedNearest } from "../retrieval.ts";
import type { SqlSettings } from "../settings.ts";
import type { SqlParameter, SqlValue } from "../sql.ts";
import { duckFault } from "./duck-fault.ts";
import type { Prepared } from "./duckdb.ts";
import type { EditedQuery } from "./edits.ts";
import { Parser } from "./parser.ts";
import type { Evaluate } from "./plan/arguments.ts";
import { plannedRetrieval } from "./plan/arguments.ts";
import { plannedNearest } from "./plan/nearest-refs.ts";
import { nameEdits, type StatementPlan } from "./plan/statement-plan.ts";
import { StatementPlans } from "./plan/statement-plans.ts";
import type { TreeNode } from "./plan/syntax-tree.ts";
import { describeStatement } from "./run/describe-statement.ts";
import { matchingIds } from "./run/matching-ids.ts";
import { bindAll } from "./run/parameters.ts";
import { emptyEdit, rewritten, showFound } from "./run/rewrite-statement.ts";
import { Statement, type StopReason } from "./run/statement.ts";
import { CollectionTables } from "./tables/collection-tables.ts";
import { NamespaceDatabase } from "./tables/namespace-database.ts";
import { defineAll, loadTables, type OpenNamespace } from "./tables/statement-tables.ts";

/** What a statement without tables needs. */
const nothing = { tables: [], catalog: undefined, found: [], nearest: [] } as const;

const stoppedEarlyMax = 1_000;

interface Open {
  readonly statement: Statement;
  readonly namespace: OpenNamespace;
  readonly dialect: Dialect | undefined;
}

/** Runs statements, in a process of their own: it parses, keeps the tables and turns results into columns. */
export class SqlService implements ChildService {
  readonly #store: Store;
  readonly #settings: SqlSettings;
  readonly #dialects: Dialects;
  readonly #namespaces = new Map<number, Promise<OpenNamespace>>();
  readonly #statements = new Map<number, Open>();
  /** Statements that were stopped before they were open. */
  readonly #stoppedEarly = new LruMap<number, StopReason>(stoppedEarlyMax);
  readonly #parser = new Parser();
  readonly #plans: StatementPlans;
  readonly #schemas = new FoundSchemas();
  #clock = 0;
  /** Messages that are being answered. */
  readonly #active = new Set<Promise<unknown>>();
  #isEnding = false;

  constructor(store: Store, settings: SqlSettings, dialects: Dialects) {
    this.#store = store;
    this.#settings = settings;
    this.#dialects = dialects;
    this.#plans = new StatementPlans((query) => this.#parser.serialize(query), dialects);
  }

  /** Opens what the first statement would have to wait for. */
  async warm(): Promise<void> {
    await this.#parser.serialize("SELECT 1");
  }

  handle(message: unknown): Promise<unknown> {
    const request = message as SqlMessage;
    const answer = this.#answer(request);
    const done: Promise<unknown> = answer.then(
      () => this.#active.delete(done),
      () => this.#active.delete(done),
    );
    this.#active.add(done);
    return answer;
  }

  async #answer(request: SqlMessage): Promise<unknown> {
    this.#checkEnding();
    switch (request.kind) {
      case "plan":
        return this.#planned(request);
      case "describe":
        return this.#describe(request);
      case "check":
        return this.#check(request);
      case "run":
        return this.#run(request);
      case "next":
        return this.#next(request.statement);
      case "cancel":
        this.#stop(request.statement, request.why);
        return undefined;
      case "close":
        this.#close(request.statement);
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
  }

  async #planned(request: Extract<SqlMessage, { kind: "plan" }>): Promise<PlanReply> {
    const plan = await this.#plans.of(request);
    const { params } = request;
    if (params !== undefined) checkCount(plan, params);
    const { needs } = plan;
    if (plan.retrievals.length === 0) {
      if (params === undefined || needs.catalog || plan.refs.length > 0)
        return { ...needs, retrievals: [], plain: undefined, ...nearestOf(plan, params), ran: undefined };
      const ran = await this.#run({ ...request, kind: "run", params, ...nothing });
      return { ...needs, retrievals: [], nearest: [], plain: undefined, repeats: false, ran };
    }
    const source = { query: plan.query, tokens: plan.tokens, namespace: request.namespace.name };
    let repeats = needs.parameters === 0 && params !== undefined;
    const evaluate: Evaluate = (expression, values) => {
      repeats = false;
      return this.#evaluate(expression, values);
    };
    try {
      const planned = plan.retrievals.map((ref) => plannedRetrieval(ref, source, params, evaluate));
      const retrievals = await Promise.all(planned);
      const { nearest } = nearestOf(plan, params);
      return { ...needs, retrievals, nearest, plain: plan.plain, repeats, ran: undefined };
    } catch (error) {
      throw duckFault(error);
    }
  }

  /** A constant expression, in a database that holds nothing. */
  async #evaluate(expression: string, params: readonly SqlParameter[]): Promise<SqlValue> {
    return this.#parser.evaluate(`SELECT (${expression})`, params);
  }

  async #describe(request: Extract<SqlMessage, { kind: "describe" }>): Promise<DescribeReply> {
    const plan = await this.#plans.of(request);
    return this.#with(request, async (open) => {
      await defineAll(open.namespace, request.tables, request.catalog);
      const retrieved = plan.retrievals.map((ref, i) =>
        emptyEdit(ref, foundColumns(this.#schemas.columnsOf(request.found[i]!), plan.columns)),
      );
      const edits = [...nameEdits(plan.refs), ...retrieved];
      const described = await describeStatement(plan, edits, request.params, (edited) =>
        this.#prepare(open, edited, false),
      );
      open.statement.isDone = true;
      return described;
    });
  }

  /** Finds which documents meet terms that the index can't check. */
  async #check(request: Extract<SqlMessage, { kind: "check" }>): Promise<CheckReply> {
    const { plan, open } = await this.#started(request);
    try {
      await defineAll(open.namespace, request.tables, undefined);
      const text = (node: TreeNode) => this.#parser.expression(node);
      const ids = await matchingIds(open, plan, request, text);
      open.statement.isDone = true;
      return { ids };
    } catch (error) {
      throw duckFault(open.statement.faultOf(error));
    } finally {
      this.#close(request.statement);
    }
  }

  /** Takes what a message tells, and opens its statement. */
  async #started(
    request: Extract<SqlMessage, { kind: "run" | "check" }>,
  ): Promise<{ plan: StatementPlan; open: Open }> {
    // First: changes apply in the order of the messages.
    const opened = this.#namespace(request.namespace).then((open) => {
      for (const table of request.tables) if (table.schema === "collections") open.collections.take(table);
      return open;
    });
    opened.catch(() => {});
    const plan = await this.#plans
      .of(request)
      .then((plan) => checkCount(plan, request.params))
      .catch(async (error: unknown) => {
        (await opened).database.uses--;
        throw error;
      });
    return { plan, open: await this.#open(request, await opened) };
  }

  async #run(request: Extract<SqlMessage, { kind: "run" }>): Promise<RunReply> {
    const { plan, open } = await this.#started(request);
    try {
      await defineAll(open.namespace, request.tables, request.catalog);
      const reads = { store: this.#store, settings: this.#settings };
      const tables = await loadTables(reads, open, plan, request.tables, request.nearest, this.#schemas);
      const { edits, filled } = await showFound(open.statement, plan, request.found, this.#schemas);
      const { edited, indexes, more } = rewritten(plan, [...tables, ...edits], request.params, { filled });
      if (plan.refs.some(({ schema }) => schema === "collections")) await open.statement.begin();
      const prepared = await this.#prepare(open, edited, plan.refs.length + edits.length === 0);
      bindAll(prepared, indexes, request.params, more);
      const columns = await open.statement.start(prepared, plan.isSmall).catch((error: unknown) => {
        throw duckFault(open.statement.faultOf(error), edited);
      });
      return { columns, ...(await this.#next(request.statement)) };
    } catch (error) {
      this.#close(request.statement);
      throw duckFault(open.statement.faultOf(error));
    }
  }

  async #next(id: number): Promise<NextReply> {
    const open = this.#statements.get(id);
    if (open === undefined) throw new EngineError("aborted", "the statement is closed");
    try {
      const reply = await open.statement.next(this.#settings.rowsMax);
      if (reply.done) this.#close(id);
      return reply;
    } catch (error) {
      this.#close(id);
      throw duckFault(open.statement.faultOf(error));
    }
  }

  /** Opens a statement for one answer. */
  async #with<T>(
    request: StatementText & { readonly statement: number },
    work: (open: Open) => Promise<T>,
  ): Promise<T> {
    const open = await this.#open(request);
    try {
      return await work(open);
    } catch (error) {
      throw duckFault(open.statement.faultOf(error));
    } finally {
      this.#close(request.statement);
    }
  }

  async #open(
    { namespace, dialect: name, statement: id }: StatementText & { readonly statement: number },
    known?: OpenNamespace,
  ): Promise<Open> {
    const opened = known ?? (await this.#namespace(namespace));
    if (this.#isEnding) opened.database.uses--;
    this.#checkEnding();
    const dialect = name && this.#dialects[name];
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

  /** `isKept` for statements without tables alone: a plan is good for the tables as they were (see `Statement.begin`). */
  async #prepare({ statement }: Open, edited: EditedQuery, isKept: boolean): Promise<Prepared> {
    statement.check();
    let prepared: Prepared;
    try {
      const connection = statement.connection!;
      prepared = await statement.busy(isKept ? connection.prepareOnce(edited.text) : connection.prepare(edited.text));
      if (!isKept) {
        statement.prepared?.close();
        statement.prepared = prepared;
      }
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
      return { database, collections: new CollectionTables(database, this.#store), views: new Map() };
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

  /** Ends every statement and closes everything, where that is not left to the end of the process. */
  async close(): Promise<void> {
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
}

/** The tables that an index may stand for, and whether the same text has the same ones each time. */
function nearestOf(plan: StatementPlan, params: readonly SqlParameter[] | undefined) {
  const isKnown = plan.needs.parameters === 0;
  const values = params ?? (isKnown ? [] : undefined);
  const nearest: PlannedNearest[] = [];
  for (const [ref, { nearest: found, name: collection, start: position }] of plan.refs.entries()) {
    const planned = found && values && plannedNearest(found, values);
    if (planned !== undefined) nearest.push({ ref, collection, position, ...planned });
  }
  return { nearest, repeats: isKnown || plan.refs.every((ref) => ref.nearest === undefined) };
}

function checkCount(plan: StatementPlan, params: readonly SqlParameter[]): StatementPlan {
  const { parameters } = plan.needs;
  if (params.length === parameters) return plan;
  throw sqlFault("parameter", `has ${params.length} values for ${parameters} parameters`, { field: "params" });
}
