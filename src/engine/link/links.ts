import { asBuffer } from "../../port/bytes.ts";
import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { alreadyExists, EngineError, notFound } from "../errors.ts";
import { makeKey, prefixRange, readU64, tables } from "../keys.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { type Metastore, type StreamMeta, takeId } from "../metastore/metastore.ts";
import { checkStorable } from "../search/document.ts";
import { decode, encode } from "../stored-value.ts";
import { type ConsistencyToken, mergeTokens, type TokenEntry } from "../token.ts";
import {
  decodeLink,
  encodeLink,
  type LinkMeta,
  linkKey,
  readAllApplied,
  readTotals,
  stageForgetState,
} from "./link-store.ts";
import type { LinkTarget } from "./target.ts";
import { Turns } from "./turns.ts";
import { LinkWorker } from "./worker.ts";

export interface CreateLinkCommand {
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly options: unknown;
}

export type LinkStatus = "running" | "unregistered";

export interface LinkView {
  readonly link: LinkMeta;
  readonly status: LinkStatus;
}

export interface LinkDetail extends LinkView {
  readonly applied: readonly { readonly partition: number; readonly offset: number }[] | undefined;
  readonly lag: readonly { readonly partition: number; readonly records: number }[];
  /** The target's own fields, as JSON text: counters can be larger than a JavaScript number. */
  readonly fields: readonly string[];
  readonly error: string | undefined;
}

export interface FoundLink {
  readonly link: LinkMeta;
  readonly source: StreamMeta | undefined;
  readonly worker: LinkWorker | undefined;
}

export interface LinkRead {
  readonly token: ConsistencyToken;
  readonly consistency: "strong" | "eventual";
}

export interface LinksDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly clock: Clock;
  readonly targets: readonly LinkTarget[];
  /** Aborted when the server drains: those who wait for a link get its current state. */
  readonly draining: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** A read without a token waits this long for the link to catch up, then answers with the lag that is left. */
const catchUpMsMax = 1_000;

/** Pipes from streams into targets: their definitions and their workers. */
export class Links {
  readonly #deps: LinksDeps;
  readonly #targets: ReadonlyMap<string, LinkTarget>;
  readonly #workers = new Map<number, LinkWorker>();
  readonly #bySource = new Map<number, Set<LinkWorker>>();
  readonly #turns = new Turns();
  /** What deleted links leave behind is freed in the background. */
  readonly #forgetting = new Set<Promise<void>>();
  #stopListening: (() => void) | undefined;
  #stopped = false;
  /** Records applied by all links since the start. */
  appliedRecords = 0;

  constructor(deps: LinksDeps) {
    this.#deps = deps;
    this.#targets = new Map(deps.targets.map((target) => [target.kind, target]));
  }

  start(): void {
    this.#stopListening = this.#deps.log.onAppend((stream, partition) => {
      const workers = this.#bySource.get(stream);
      if (workers !== undefined) for (const worker of workers) worker.notify(partition);
    });
    for (const link of this.#all()) this.#startWorker(link);
    for (const { key, value } of [...this.#deps.store.range(prefixRange(tables.droppedLink))]) {
      this.#forgetLater(readU64(key, 1), decode<{ kind: string }>(value).kind);
    }
  }

  /** Another node does the work: what it has applied is read from the store. */
  follow(): void {
    for (const link of this.#all()) if (!this.#workers.has(link.id)) this.#addWorker(link);
  }

  /** Another node has changed a link's state; `undefined`: something that any link may depend on. */
  onStored(linkId: number | undefined): void {
    if (linkId === undefined) for (const worker of this.#workers.values()) worker.onStored();
    else this.#workers.get(linkId)?.onStored();
  }

  /** Another node has deleted a link. */
  onDeleted(linkId: number): void {
    const link = this.#workers.get(linkId)?.link;
    if (link !== undefined) void this.#stopWorker(link);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopListening?.();
    await Promise.all([...[...this.#workers.values()].map((worker) => worker.stop()), ...this.#forgetting]);
    this.#workers.clear();
    this.#bySource.clear();
  }

  async create(command: CreateLinkCommand): Promise<{ id: number }> {
    const { metastore, committer } = this.#deps;
    checkStorable(command.options, "options");
    this.#targets.get(command.target.kind)?.checkOptions(command.options);
    const link = await committer.submit((draft) => {
      const owner = metastore.stagedNamespace(draft, command.namespace);
      const key = linkKey(owner.id, command.name);
      const existing = draft.get(key);
      if (existing !== undefined) {
        const { id } = decodeLink(owner.id, owner.name, command.name, existing);
        throw alreadyExists(`link ${JSON.stringify(command.name)} already exists`, id);
      }
      const source = metastore.stagedStream(draft, metastore.stream(command.namespace, command.source));
      const meta: LinkMeta = { ...command, id: takeId(draft, "link"), namespaceId: owner.id, sourceId: source.id };
      draft.put(key, encodeLink(meta));
      return meta;
    });
    this.#startWorker(link);
    return { id: link.id };
  }

  async delete(namespace: string, name: string): Promise<void> {
    const link = this.#find(namespace, name);
    // Stopped first: a step that commits after the link is gone would leave state behind.
    await this.#stopWorker(link);
    const { committer } = this.#deps;
    const key = linkKey(link.namespaceId, link.name);
    const marker = makeKey(tables.droppedLink, link.id);
    try {
      await committer.submit((draft) => {
        const stored = draft.get(key);
        // Deleted by another request since, and perhaps created again.
        if (stored === undefined || decodeLink(link.namespaceId, namespace, name, stored).id !== link.id) {
          throw linkMissing(namespace, name);
        }
        draft.delete(key);
        draft.put(marker, encode({ kind: link.target.kind }));
        stageForgetState(draft, link.id);
      });
    } catch (error) {
      const isGone = error instanceof EngineError && error.reason === "not_found";
      if (!isGone && !this.#stopped) this.#startWorker(link);
      throw error;
    }
    // A worker that its creation started only now.
    await this.#stopWorker(link);
    this.#forgetLater(link.id, link.target.kind);
  }

  /** Frees what a deleted link's target kept, in steps; the marker lets a restart finish it. */
  #forgetLater(linkId: number, kind: string): void {
    const work = this.#forget(linkId, kind)
      .catch(this.#deps.onError)
      .finally(() => this.#forgetting.delete(work));
    this.#forgetting.add(work);
  }

  async #forget(linkId: number, kind: string): Promise<void> {
    const { committer } = this.#deps;
    const target = this.#targets.get(kind);
    let more = target !== undefined;
    while (more) {
      if (this.#stopped) return;
      more = await committer.submit((draft) => target!.stageForget(draft, linkId, limits.expireStepKeysMax));
    }
    await committer.submit((draft) => {
      stageForgetState(draft, linkId);
      draft.delete(makeKey(tables.droppedLink, linkId));
    });
  }

  /** A namespace's links sorted by name. */
  list(namespace: string): LinkView[] {
    const { store, metastore } = this.#deps;
    const owner = metastore.namespace(namespace);
    return [...store.range(prefixRange(tables.link, owner.id))].map(({ key, value }) =>
      this.#view(decodeLink(owner.id, owner.name, asBuffer(key).toString("latin1", 9), value)),
    );
  }

  /** A link as it is, with its worker where it has one. */
  find(namespace: string, name: string): FoundLink {
    const link = this.#find(namespace, name);
    return { link, source: this.#source(link), worker: this.#workers.get(link.id) };
  }

  /** For a read that can't show a lag: waits until the link has applied everything it must see, or fails. */
  async reflect({ source, worker }: FoundLink, { token, consistency }: LinkRead, signal?: AbortSignal): Promise<void> {
    if (source === undefined || worker === undefined) return;
    const deadlineMs = this.#deps.clock.steadyMs() + limits.tokenWaitMsMax;
    const durable = consistency === "eventual" ? [] : this.#durable(source);
    for (const entry of mergeTokens(token, durable)) {
      if (entry.stream === source.id) await this.#waitToken(worker, source, entry, deadlineMs, signal);
    }
  }

  #durable(source: StreamMeta): ConsistencyToken {
    const ends = Array.from({ length: source.partitions }, (_, partition) => ({
      stream: source.id,
      partition,
      offset: this.#deps.log.highWatermark(source, partition) - 1,
    }));
    return ends.filter(({ offset }) => offset >= 0);
  }

  async detail(namespace: string, name: string, read: LinkRead, signal?: AbortSignal): Promise<LinkDetail> {
    const { link, source, worker } = this.find(namespace, name);
    if (worker !== undefined && source !== undefined) await this.#catchUp(worker, source, read, signal);
    const { log, store } = this.#deps;
    // One view, so that the counters are those of exactly the applied offsets.
    using view = store.snapshot();
    const target = this.#targets.get(link.target.kind);
    const holds = target?.holds(link, view) ?? true;
    const known = holds ? readAllApplied(view, link.id) : new Map<number, number>();
    const totals = readTotals(view, link.id);
    const partitions = source === undefined ? [...known.keys()] : [...Array(source.partitions).keys()];
    const applied = partitions.map((partition) => ({ partition, offset: known.get(partition) ?? 0 }));
    return {
      ...this.#view(link),
      applied: target && applied,
      lag: source === undefined ? [] : applied.map(({ partition, offset }) => lagOf(log, source, partition, offset)),
      fields: (await target?.detail(link, holds ? totals : { ...totals, skipped: 0, lost: 0 }, view)) ?? [],
      error: source === undefined ? this.#sourceFault(link) : worker?.error,
    };
  }

  /**
   * Waits until the links that fill a collection have applied what a token names of their sources, as a read of what is
   * derived from them must. Tells whether the token names any of it.
   */
  async filled(namespace: string, collection: string, token: ConsistencyToken, signal?: AbortSignal): Promise<boolean> {
    const deadlineMs = this.#deps.clock.steadyMs() + limits.tokenWaitMsMax;
    let isNamed = false;
    for (const entry of token) {
      for (const worker of [...(this.#bySource.get(entry.stream) ?? [])]) {
        const { link } = worker;
        const { kind, name } = link.target;
        if (kind !== "collection" || name !== collection || link.namespace !== namespace) continue;
        const source = this.#source(link);
        if (source === undefined) continue;
        isNamed = true;
        await this.#waitToken(worker, source, entry, deadlineMs, signal);
      }
    }
    return isNamed;
  }

  /** A target was created: links that wait for it continue, links into an older one of its name start over. */
  targetMade(kind: string, namespace: string, name: string): void {
    for (const worker of this.#workers.values()) {
      const { link } = worker;
      if (link.namespace === namespace && link.target.kind === kind && link.target.name === name) {
        worker.targetChanged();
      }
    }
  }

  /** The worker's counters by link, for SQL. */
  target(kind: string): LinkTarget | undefined {
    return this.#targets.get(kind);
  }

  /** Lag of every link with a worker, for metrics. */
  *lags(): Iterable<{ link: LinkMeta; records: number; error: string | undefined }> {
    for (const link of this.#all()) {
      const worker = this.#workers.get(link.id);
      const source = this.#source(link);
      if (worker === undefined || source === undefined) continue;
      let records = 0;
      for (let partition = 0; partition < source.partitions; partition++) {
        records += Math.max(0, this.#deps.log.highWatermark(source, partition) - worker.applied(partition));
      }
      yield { link, records, error: worker.error };
    }
  }

  /** Records that each link with a worker has passed over, for metrics. */
  *skips(): Iterable<{ link: LinkMeta; skipped: number }> {
    for (const { link } of this.#workers.values()) {
      yield { link, skipped: readTotals(this.#deps.store, link.id).skipped };
    }
  }

  /**
   * A read sees what was acknowledged before it began. With a token it waits for the token's offsets or fails; without
   * one it waits a moment for the worker, unless it is eventual, and then shows the lag instead of failing.
   */
  async #catchUp(
    worker: LinkWorker,
    source: StreamMeta,
    { token, consistency }: LinkRead,
    signal?: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#deps;
    const endMs = clock.steadyMs() + (consistency === "eventual" ? 0 : catchUpMsMax);
    const until = this.#until(signal);
    for (let partition = 0; partition < source.partitions; partition++) {
      const leftMs = endMs - clock.steadyMs();
      const target = log.highWatermark(source, partition);
      if (leftMs > 0) await worker.waitApplied(partition, target, leftMs, until);
    }
    const deadlineMs = clock.steadyMs() + limits.tokenWaitMsMax;
    for (const entry of token) {
      if (entry.stream === source.id) await this.#waitToken(worker, source, entry, deadlineMs, signal);
    }
  }

  async #waitToken(
    worker: LinkWorker,
    source: StreamMeta,
    { partition, offset }: TokenEntry,
    deadlineMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const leftMs = deadlineMs - this.#deps.clock.steadyMs();
    const until = this.#until(signal);
    if (partition < source.partitions && (await worker.waitApplied(partition, offset + 1, leftMs, until))) return;
    throw new EngineError(
      "deadline_exceeded",
      `link ${worker.link.name} has not applied offset ${offset} of partition ${partition} yet`,
      {
        retryAfterMs: 1000,
      },
    );
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    const { draining } = this.#deps;
    return signal === undefined ? draining : AbortSignal.any([signal, draining]);
  }

  #view(link: LinkMeta): LinkView {
    return { link, status: this.#targets.has(link.target.kind) ? "running" : "unregistered" };
  }

  #find(namespace: string, name: string): LinkMeta {
    const { store, metastore } = this.#deps;
    const owner = metastore.namespace(namespace);
    const stored = store.get(linkKey(owner.id, name));
    if (stored === undefined) throw linkMissing(namespace, name);
    return decodeLink(owner.id, owner.name, name, stored);
  }

  *#all(): Iterable<LinkMeta> {
    const { store, metastore } = this.#deps;
    for (const owner of metastore.namespaces()) {
      for (const { key, value } of store.range({
        from: makeKey(tables.link, owner.id),
        to: makeKey(tables.link, owner.id + 1),
      })) {
        yield decodeLink(owner.id, owner.name, asBuffer(key).toString("latin1", 9), value);
      }
    }
  }

  /** The stream the link was made for; a new stream of the same name is another one. */
  #source(link: LinkMeta): StreamMeta | undefined {
    try {
      const found = this.#deps.metastore.stream(link.namespace, link.source);
      return found.id === link.sourceId ? found : undefined;
    } catch (error) {
      if (error instanceof EngineError && error.reason === "not_found") return undefined;
      throw error;
    }
  }

  #sourceFault(link: LinkMeta): string {
    const hint = "what the link had applied is kept";
    const { metastore } = this.#deps;
    const isReplaced = [...metastore.streams(metastore.namespace(link.namespace))].some(
      ({ name }) => name === link.source,
    );
    return isReplaced
      ? `the source stream was deleted, and the stream that has its name now is another one; ${hint}`
      : `the source stream was deleted; ${hint}`;
  }

  #startWorker(link: LinkMeta): void {
    this.#addWorker(link)?.start();
  }

  /** Undefined where nobody knows its kind of target. */
  #addWorker(link: LinkMeta): LinkWorker | undefined {
    const target = this.#targets.get(link.target.kind);
    if (target === undefined) return undefined;
    const { store, log, committer, clock } = this.#deps;
    const worker = new LinkWorker(link, target, {
      store,
      log,
      committer,
      clock,
      turns: this.#turns,
      source: () => this.#source(link),
      onApplied: (records) => {
        this.appliedRecords += records;
      },
    });
    this.#workers.set(link.id, worker);
    const known = this.#bySource.get(link.sourceId) ?? new Set();
    known.add(worker);
    this.#bySource.set(link.sourceId, known);
    return worker;
  }

  async #stopWorker(link: LinkMeta): Promise<void> {
    const worker = this.#workers.get(link.id);
    if (worker === undefined) return;
    await worker.stop();
    this.#workers.delete(link.id);
    this.#bySource.get(link.sourceId)?.delete(worker);
  }
}

function linkMissing(namespace: string, name: string): EngineError {
  return notFound(`link ${JSON.stringify(name)} does not exist in namespace ${JSON.stringify(namespace)}`);
}

function lagOf(log: Log, source: StreamMeta, partition: number, applied: number) {
  return { partition, records: Math.max(0, log.highWatermark(source, partition) - applied) };
}
