import type { Clock } from "../../port/clock.ts";
import type { EngineThread } from "../collection/engine-thread.ts";
import { EngineError } from "../errors.ts";
import type { Metastore } from "../metastore/metastore.ts";
import type { Queries } from "../query/queries.ts";
import type { ConsistencyToken } from "../token.ts";
import type { SqlBatch } from "./batch.ts";
import { ChangeTracker } from "./change-tracker.ts";
import { sqlFault } from "./fault.ts";
import type {
  CheckReply,
  DescribeReply,
  NextReply,
  PlanReply,
  RunReply,
  SqlMessage,
  StatementText,
} from "./messages.ts";
import type { PlannedRetrieval } from "./retrieval.ts";
import { emptyFound, type Restriction, type RetrieveRequest, restrictionOf, retrieve } from "./retrieve.ts";
import type { SqlSettings } from "./settings.ts";
import type { Sql, SqlDescription, SqlFaultKind, SqlResult, SqlStatement, SqlStatementKind, SqlTable } from "./sql.ts";
import { type ResolverDeps, TableResolver } from "./table-resolver.ts";
import { StatementTurns } from "./turns.ts";
import type { SqlColumnInfo } from "./type.ts";

export type SqlThread = EngineThread<SqlMessage>;

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

export type SqlOutcome = "ok" | SqlFaultKind | "error";

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
    this.#turns = new StatementTurns(deps.settings);
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
    const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
    return this.#turns.take(signal, () =>
      work.run(async () => {
        const needs = await work.request<PlanReply>({ kind: "plan", statement: work.id, params: undefined, ...text });
        const unread = needs.tables.map((table) => ({ ...table, read: false }));
        const { tables } = await this.#resolver.resolve(text.namespace.name, unread, { token: [], params: [] }, signal);
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
      const work = new StatementWork(this.#deps, this.#nextStatement++, signal);
      const started = await this.#turns.take(signal, () => work.run(() => this.#start(work, text, statement, signal)));
      return new RunningStatement(work, this.#turns, started, signal, end);
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
    const retrieved = await Promise.all(
      needs.retrievals.map((planned, i) => retrieve(this.#deps.queries, planned, restrictions[i]!, request, signal)),
    );
    const resolved = await this.#resolver.resolve(name, needs.tables, { token, params }, signal);
    const found = retrieved.map((each) => each.found);
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

interface Started extends RunReply {
  readonly kind: SqlStatementKind;
  readonly token: ConsistencyToken;
}

/** Without a reason of the caller's, an error with its stack is made for each statement. */
const finished = "finished";

/** One statement's dealings with the thread, within its time. */
class StatementWork {
  readonly id: number;
  readonly #thread: SqlThread;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #leftMs: number;
  #timedOut = false;

  constructor({ thread, clock, settings }: SqlEngineDeps, id: number, signal: AbortSignal | undefined) {
    this.id = id;
    this.#thread = thread;
    this.#clock = clock;
    this.#signal = signal;
    this.#leftMs = settings.timeMs;
  }

  /** Counts what the work takes; at the end of the statement's time, and when nobody waits any more, it is stopped. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.steadyMs();
    const over = new AbortController();
    const stop = () => this.#stop("cancelled");
    this.#signal?.addEventListener("abort", stop, { once: true });
    void this.#clock.sleep(Math.max(0, this.#leftMs), over.signal).then(() => {
      if (!over.signal.aborted) this.#stop("timeout");
    });
    try {
      this.#signal?.throwIfAborted();
      return await work();
    } catch (error) {
      throw this.#reason(error);
    } finally {
      over.abort(finished);
      this.#signal?.removeEventListener("abort", stop);
      this.#leftMs -= this.#clock.steadyMs() - startedMs;
    }
  }

  async request<T>(message: SqlMessage, transfer: readonly ArrayBuffer[] = []): Promise<T> {
    if (this.#timedOut) throw timedOut();
    // Cancelled between two requests, when the thread knew of nothing to stop.
    this.#signal?.throwIfAborted();
    return this.#thread.request<T>(message, transfer);
  }

  close(): void {
    this.#thread.post({ kind: "close", statement: this.id });
  }

  #stop(why: "cancelled" | "timeout"): void {
    if (why === "timeout") this.#timedOut = true;
    this.#thread.post({ kind: "cancel", statement: this.id, why });
  }

  #reason(error: unknown): unknown {
    if (this.#signal?.aborted && !(error instanceof EngineError && error.reason === "internal")) {
      return this.#signal.reason instanceof EngineError
        ? this.#signal.reason
        : sqlFault("cancelled", "the statement was cancelled", { cause: error });
    }
    return error;
  }
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

function timedOut(): EngineError {
  return sqlFault("timeout", "the statement took longer than SERVICE_SQL_TIME allows");
}

function outcomeOf(error: unknown): SqlOutcome {
  const fault = error instanceof EngineError ? (error.details["sql"] as { kind: SqlFaultKind } | undefined) : undefined;
  return fault?.kind ?? "error";
}

class RunningStatement implements SqlResult {
  readonly kind: SqlStatementKind;
  readonly columns: readonly SqlColumnInfo[];
  readonly token: ConsistencyToken;
  readonly #work: StatementWork;
  readonly #turns: StatementTurns;
  readonly #signal: AbortSignal | undefined;
  readonly #end: (outcome: SqlOutcome) => void;
  #ready: SqlBatch | undefined;
  #isDone: boolean;
  #isOver = false;

  constructor(
    work: StatementWork,
    turns: StatementTurns,
    started: Started,
    signal: AbortSignal | undefined,
    end: (outcome: SqlOutcome) => void,
  ) {
    this.kind = started.kind;
    this.columns = started.columns;
    this.token = started.token;
    this.#work = work;
    this.#turns = turns;
    this.#signal = signal;
    this.#end = end;
    this.#ready = started.batch;
    this.#isDone = started.done;
    if (this.#isDone && this.#ready === undefined) this.#finish("ok");
  }

  async next(): Promise<SqlBatch | undefined> {
    if (this.#ready !== undefined) {
      const batch = this.#ready;
      this.#ready = undefined;
      if (this.#isDone) this.#finish("ok");
      return batch;
    }
    if (this.#isDone || this.#isOver) return undefined;
    try {
      const { batch, done } = await this.#turns.take(this.#signal, () =>
        this.#work.run(() => this.#work.request<NextReply>({ kind: "next", statement: this.#work.id })),
      );
      this.#isDone = done;
      if (done) this.#finish("ok");
      return batch;
    } catch (error) {
      if (!this.#isOver) this.#work.close();
      this.#finish(outcomeOf(error));
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isDone) this.#work.close();
    this.#ready = undefined;
    this.#isDone = true;
    this.#finish("ok");
  }

  #finish(outcome: SqlOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(outcome);
  }
}
