import type { Clock } from "../../port/clock.ts";
import type { Metastore } from "../metastore/metastore.ts";
import type { Queries } from "../query/queries.ts";
import type { ConsistencyToken } from "../token.ts";
import { ChangeTracker } from "./change-tracker.ts";
import { sqlFault } from "./fault.ts";
import type { CheckReply, DescribeReply, PlanReply, RunReply, StatementText } from "./messages.ts";
import { checkParameters } from "./parameter-nesting.ts";
import { plainRowsMax } from "./plain-rows.ts";
import type { PlannedRetrieval } from "./retrieval.ts";
import { emptyFound, type Restriction, type RetrieveRequest, restrictionOf, retrieve } from "./retrieve.ts";
import { outcomeOf, RunningStatement, type SqlOutcome, type Started } from "./running-statement.ts";
import type { SqlSettings } from "./settings.ts";
import type { Sql, SqlDescription, SqlResult, SqlStatement, SqlTable } from "./sql.ts";
import { type SqlThread, StatementWork } from "./statement-work.ts";
import { type ResolverDeps, TableResolver } from "./table-resolver.ts";
import { StatementTurns } from "./turns.ts";

export type { SqlOutcome, SqlThread };

export interface SqlEngineDeps extends Omit<ResolverDeps, "changes"> {
  readonly thread: SqlThread;
  readonly metastore: Metastore;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly settings: SqlSettings;
  /** Told of each statement when it is over. */
  readonly onStatement?: (outcome: SqlOutcome, ms: number) => void;
}

/** How long the end of statements is waited for. */
const endMsMax = 5_000;

/** Statements are parsed and run in a thread of their own; here they get their turn, their tables and their time. */
export class SqlEngine implements Sql {
  readonly #deps: SqlEngineDeps;
  readonly #turns: StatementTurns;
  readonly #resolver: TableResolver;
  readonly #plans = new KnownPlans();
  #nextStatement = 1;
  #open = 0;

  constructor(deps: SqlEngineDeps) {
    this.#deps = deps;
    this.#turns = new StatementTurns(deps.settings, deps.clock);
    const changes = new ChangeTracker();
    this.#resolver = new TableResolver({ ...deps, changes });
    deps.thread.onLost(() => changes.clear());
  }

  /** Statements that work, wait for their turn, or wait for their reader. */
  get load(): { readonly running: number; readonly waiting: number; readonly open: number } {
    return { running: this.#turns.running, waiting: this.#turns.waiting, open: this.#open };
  }

  /** Ends every statement, before the thread is ended. */
  async stop(): Promise<void> {
    // A thread that never had anything to do has not been started.
    if (this.#nextStatement === 1) return;
    const over = new AbortController();
    const ended = this.#deps.thread.request({ kind: "end" }).catch(() => {});
    await Promise.race([ended, this.#deps.clock.sleep(endMsMax, over.signal)]);
    over.abort();
  }

  async tables(namespace: string): Promise<readonly SqlTable[]> {
    this.#namespace(namespace);
    return this.#resolver.shown(namespace);
  }

  async describe(
    statement: Omit<SqlStatement, "token" | "consistency">,
    signal?: AbortSignal,
  ): Promise<SqlDescription> {
    const text = this.#text(statement);
    checkParameters(statement.params);
    const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
    return this.#turns.begin(text.namespace.id, signal, () =>
      work.run(async () => {
        const needs = await work.request<PlanReply>({ kind: "plan", statement: work.id, params: undefined, ...text });
        const unread = needs.tables.map((table) => ({ ...table, read: false }));
        const request = { token: [], params: [], consistency: "eventual" } as const;
        const { tables } = await this.#resolver.resolve(text.namespace.name, unread, request, signal);
        const { columns, parameters } = await work.request<DescribeReply>({
          kind: "describe",
          statement: work.id,
          tables: tables(),
          params: statement.params,
          found: needs.retrievals.map((each) => emptyFound(this.#deps.queries, each, text.namespace.name)),
          catalog: needs.catalog ? this.#resolver.all(text.namespace.name) : undefined,
          ...text,
        });
        return { kind: needs.kind, columns, parameters };
      }),
    );
  }

  async run(statement: SqlStatement, signal?: AbortSignal): Promise<SqlResult> {
    const { clock, settings } = this.#deps;
    const startedMs = clock.steadyMs();
    if (this.#open >= settings.openMax) throw sqlFault("busy", "too many statements are open; retry");
    this.#open++;
    const end = (outcome: SqlOutcome) => {
      this.#open--;
      this.#deps.onStatement?.(outcome, clock.steadyMs() - startedMs);
    };
    try {
      const text = this.#text(statement);
      checkParameters(statement.params);
      const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
      const started = await this.#turns.begin(text.namespace.id, signal, () =>
        work.run(() => this.#start(work, text, statement, signal)),
      );
      const goOn = <T>(step: () => Promise<T>) => this.#turns.goOn(signal, () => work.run(step));
      return new RunningStatement(work, goOn, started, end);
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
    const resolved = await this.#resolver.resolve(text.namespace.name, tables, request, signal);
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
    const resolved = await this.#resolver.resolve(name, needs.tables, request, signal);
    const found = retrieved.flatMap((each) => ("found" in each ? [each.found] : []));
    const reply = await work.request<RunReply>(
      {
        kind: "run",
        statement: work.id,
        tables: resolved.tables(),
        catalog: needs.catalog ? this.#resolver.all(name) : undefined,
        params,
        found,
        ...text,
      },
      found.flatMap(({ ids, scores, offsets, data }) => [ids, scores, offsets, data].map(bufferOf)),
    );
    const seen = retrieved.reduce((token, each) => leastTokens(token, each.token), resolved.token);
    return { kind: needs.kind, token: seen, ...reply };
  }

  #text({ namespace, query, dialect }: Pick<SqlStatement, "namespace" | "query" | "dialect">): StatementText {
    const { id, name } = this.#namespace(namespace);
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
  readonly #plans = new Map<string, PlanReply>();

  find(text: StatementText): PlanReply | undefined {
    return this.#plans.get(keyOf(text));
  }

  keep(text: StatementText, plan: PlanReply): void {
    if (!plan.repeats || text.query.length > planLengthMax) return;
    if (this.#plans.size >= plansMax) this.#plans.delete(this.#plans.keys().next().value!);
    this.#plans.set(keyOf(text), plan);
  }
}

function keyOf({ namespace, dialect, query }: StatementText): string {
  return `${dialect ?? ""}\n${namespace.name}\n${query}`;
}

function bufferOf({ buffer }: { readonly buffer: ArrayBufferLike }): ArrayBuffer {
  return buffer as ArrayBuffer;
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
