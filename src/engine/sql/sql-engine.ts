import assert from "node:assert/strict";
import type { Children, ChildrenStats } from "../../port/children.ts";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Metastore } from "../metastore/metastore.ts";
import type { Queries } from "../query/queries.ts";
import type { ConsistencyToken } from "../token.ts";
import { ChangeTracker } from "./change-tracker.ts";
import type { TableSchema } from "./columns.ts";
import { sqlFault } from "./fault.ts";
import type { CheckReply, DescribeReply, PlanReply, RunReply, StatementText } from "./messages.ts";
import { nearest } from "./nearest.ts";
import { plainRowsMax } from "./plain-rows.ts";
import type { PlannedRetrieval } from "./retrieval.ts";
import { emptyFound, type Restriction, type RetrieveRequest, restrictionOf, retrieve } from "./retrieve.ts";
import { LargeBatches, outcomeOf, RunningStatement, type SqlOutcome, type Started } from "./running-statement.ts";
import type { SqlSettings } from "./settings.ts";
import type { Sql, SqlDescription, SqlResult, SqlStatement, SqlTable } from "./sql.ts";
import { type ProcessSlot, SqlProcesses } from "./sql-processes.ts";
import { checkLength, checkParameters } from "./statement-limits.ts";
import { StatementQueue } from "./statement-queue.ts";
import { StatementWork } from "./statement-work.ts";
import { type ResolverDeps, TableResolver } from "./table-resolver.ts";
import type { SqlColumnInfo } from "./type.ts";

export type { SqlOutcome };

export interface SqlEngineDeps extends Omit<ResolverDeps, "changes"> {
  readonly children: Children;
  readonly metastore: Metastore;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly settings: SqlSettings;
  /** Told of each statement when it is over. */
  readonly onStatement?: (outcome: SqlOutcome, ms: number) => void;
}

/** Of long rows that wait for their readers. */
const largeBytesMax = 512 * 1024 * 1024;

/** Statements are parsed and run in processes of their own; here they get a place in the queue, their tables and their time. */
export class SqlEngine implements Sql {
  readonly #deps: SqlEngineDeps;
  readonly #queue: StatementQueue;
  readonly #processes: SqlProcesses;
  /** One for each process slot, since each gets the changes since its last statement. */
  readonly #resolvers = new Map<ProcessSlot, TableResolver>();
  /** For what reads no rows. */
  readonly #catalog: TableResolver;
  readonly #plans = new KnownPlans();
  #nextStatement = 1;
  #open = 0;
  readonly #large = new LargeBatches(largeBytesMax);

  constructor(deps: SqlEngineDeps) {
    this.#deps = deps;
    this.#queue = new StatementQueue(deps.settings, deps.clock);
    this.#catalog = new TableResolver({ ...deps, changes: new ChangeTracker() });
    this.#processes = new SqlProcesses(deps.children, deps.settings.processesMax);
  }

  /** Statements that work, wait in the queue, or wait for their reader. */
  get load(): { readonly running: number; readonly waiting: number; readonly open: number } {
    return { running: this.#queue.running, waiting: this.#queue.waiting, open: this.#open };
  }

  /** What the processes of statements take. */
  get processes(): ChildrenStats {
    return this.#deps.children.stats;
  }

  /** Starts a process ahead of the first statement. */
  prepare(): void {
    this.#deps.children.prepare();
  }

  /** Ends every statement with its process. */
  stop(): Promise<void> {
    return this.#processes.close();
  }

  async tables(namespace: string): Promise<readonly SqlTable[]> {
    this.#namespace(namespace);
    return this.#catalog.shown(namespace);
  }

  columnsOf(namespace: string, schema: TableSchema, name: string): readonly SqlColumnInfo[] | undefined {
    return this.#catalog.columnsOf(namespace, schema, name);
  }

  async describe(
    statement: Omit<SqlStatement, "token" | "consistency">,
    signal?: AbortSignal,
  ): Promise<SqlDescription> {
    const text = this.#text(statement);
    checkParameters(statement.params);
    const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
    try {
      return await this.#queue.begin(text.namespace.id, signal, () =>
        work.begin(this.#processes, text.namespace.id, () => this.#described(work, text, statement.params, signal)),
      );
    } finally {
      work.end();
    }
  }

  async #described(
    work: StatementWork,
    text: StatementText,
    params: SqlStatement["params"],
    signal: AbortSignal | undefined,
  ): Promise<SqlDescription> {
    const needs =
      this.#plans.find(text) ??
      (await work.request<PlanReply>({ kind: "plan", statement: work.id, params: undefined, ...text }));
    this.#plans.keep(text, needs);
    const unread = needs.tables.map((table) => ({ ...table, read: false }));
    const request = { token: [], params: [], consistency: "eventual" } as const;
    const { tables } = await this.#catalog.resolve(text.namespace.name, unread, request, signal);
    const { columns, parameters } = await work.request<DescribeReply>({
      kind: "describe",
      statement: work.id,
      tables: tables(),
      params,
      found: needs.retrievals.map((each) => emptyFound(this.#deps.queries, each, text.namespace.name)),
      catalog: needs.catalog ? this.#catalog.all(text.namespace.name) : undefined,
      ...text,
    });
    return { kind: needs.kind, columns, parameters };
  }

  async run(statement: SqlStatement, signal?: AbortSignal): Promise<SqlResult> {
    const { clock, settings } = this.#deps;
    const startedMs = clock.steadyMs();
    if (this.#open >= settings.openMax) throw sqlFault("busy", "too many statements are open; retry");
    this.#open++;
    const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
    const end = (outcome: SqlOutcome) => {
      this.#open--;
      assert(this.#open >= 0, "a statement ends once");
      work.end();
      this.#deps.onStatement?.(outcome, clock.steadyMs() - startedMs);
    };
    try {
      const text = this.#text(statement);
      checkParameters(statement.params);
      const started = await this.#queue.begin(text.namespace.id, signal, () =>
        work.begin(this.#processes, text.namespace.id, () => this.#start(work, text, statement, signal)),
      );
      const goOn = <T>(step: () => Promise<T>) => this.#queue.goOn(signal, () => work.goOn(step));
      return new RunningStatement(work, goOn, started, this.#large, end);
    } catch (error) {
      end(outcomeOf(error));
      throw error;
    }
  }

  /** What a filter can't say, SQL checks: over the collection's table, before anything is retrieved. */
  async #restriction(
    work: StatementWork,
    text: StatementText,
    retrievals: readonly PlannedRetrieval[],
    at: number,
    request: RetrieveRequest,
    signal: AbortSignal | undefined,
  ): Promise<Restriction> {
    const planned = retrievals[at]!;
    const filters = restrictionOf(this.#deps.queries, planned, request);
    if (filters.rest.length === 0) return filters;
    const { collection: name, position } = planned;
    const named = { schema: "collections", name, optional: false, position, read: true, ref: 0 } as const;
    const tables = [{ ...named, conditions: [], limit: undefined }];
    const resolved = await this.#resolverOf(work).resolve(text.namespace.name, tables, request, signal);
    const { ids } = await work.request<CheckReply>({
      kind: "check",
      statement: work.id,
      retrieval: at,
      terms: filters.rest,
      tables: resolved.tables(),
      params: request.params,
      ...text,
    });
    return { ...filters, ids };
  }

  async #start(
    work: StatementWork,
    text: StatementText,
    { params, token, consistency }: SqlStatement,
    signal: AbortSignal | undefined,
  ): Promise<Started> {
    const needs =
      this.#plans.find(text) ?? (await work.request<PlanReply>({ kind: "plan", statement: work.id, params, ...text }));
    if (needs.ran !== undefined) return { kind: needs.kind, token: [], ...needs.ran };
    this.#plans.keep(text, needs);
    const { name } = text.namespace;
    const request = { namespace: name, params, token, consistency };
    const restrictions: Restriction[] = [];
    for (const at of needs.retrievals.keys()) {
      restrictions.push(await this.#restriction(work, text, needs.retrievals, at, request, signal));
    }
    // What only SQL can check keeps a statement from being plain.
    const isPlain = restrictions.every(({ rest }) => rest.length === 0) && plainRowsMax <= this.#deps.settings.rowsMax;
    const plain = isPlain ? needs.plain : undefined;
    const retrieved = await Promise.all(
      needs.retrievals.map((planned, i) =>
        retrieve(this.#deps.queries, planned, restrictions[i]!, request, signal, plain),
      ),
    );
    const [only] = retrieved;
    if (only !== undefined && "rows" in only) return { kind: needs.kind, token: only.token, ...only.rows };
    const near = await Promise.all(needs.nearest.map((each) => nearest(this.#deps.queries, each, request, signal)));
    const proposed = near.filter((each) => each !== undefined);
    const named = needs.tables.map((table) =>
      proposed.some(({ ref }) => ref === table.ref) ? { ...table, read: false } : table,
    );
    const resolved = await this.#resolverOf(work).resolve(name, named, request, signal);
    const found = retrieved.flatMap((each) => ("found" in each ? [each.found] : []));
    const reply = await work.request<RunReply>({
      kind: "run",
      statement: work.id,
      tables: resolved.tables(),
      catalog: needs.catalog ? this.#catalog.all(name) : undefined,
      params,
      found,
      nearest: proposed.map(({ ref, found }) => ({ ref, found })),
      ...text,
    });
    const seen = [...retrieved, ...proposed].reduce((token, each) => leastTokens(token, each.token), resolved.token);
    return { kind: needs.kind, token: seen, ...reply };
  }

  #resolverOf({ process: { slot } }: StatementWork): TableResolver {
    const known = this.#resolvers.get(slot);
    if (known !== undefined) return known;
    const resolver = new TableResolver({ ...this.#deps, changes: slot.changes });
    this.#resolvers.set(slot, resolver);
    return resolver;
  }

  #text({ namespace, query, dialect }: Pick<SqlStatement, "namespace" | "query" | "dialect">): StatementText {
    const { id, name } = this.#namespace(namespace);
    checkLength(query);
    // The parser would take it for the end, and what follows would be passed over in silence.
    const position = query.indexOf("\0");
    if (position >= 0) throw sqlFault("syntax", "a statement can't hold a NUL character", { position });
    return { namespace: { id, name }, query, dialect };
  }

  #namespace(name: string) {
    const found = this.#deps.metastore.findNamespace(name);
    if (found === undefined) throw sqlFault("unknown_namespace", `namespace ${JSON.stringify(name)} does not exist`);
    return found;
  }
}

/** Plans that are kept, and the longest query of one. */
const plansMax = 500;
const planLengthMax = 10_000;

/** What statements need that came before: the same text needs the same, unless its values have a part in it. */
class KnownPlans {
  readonly #plans = new LruMap<string, PlanReply>(plansMax);

  find(text: StatementText): PlanReply | undefined {
    return this.#plans.get(keyOf(text));
  }

  keep(text: StatementText, plan: PlanReply): void {
    if (plan.repeats && text.query.length <= planLengthMax) this.#plans.set(keyOf(text), plan);
  }
}

function keyOf({ namespace, dialect, query }: StatementText): string {
  return `${dialect ?? ""}\n${namespace.name}\n${query}`;
}

/** What all of a statement's parts reflect: of a log that several of them read, the lowest offset. */
function leastTokens(a: ConsistencyToken, b: ConsistencyToken): ConsistencyToken {
  const entries = [...a];
  for (const entry of b) {
    const at = entries.findIndex(({ stream, partition }) => stream === entry.stream && partition === entry.partition);
    if (at === -1) entries.push(entry);
    else if (entry.offset < entries[at]!.offset) entries[at] = entry;
  }
  return entries;
}
