import { ServiceError } from "./error.ts";
import { enveloped, messagesOf } from "./live-stream.ts";
import { decodeValue, encodeValue, valueKey } from "./live-value.ts";
import { failureOf, type Transport } from "./transport.ts";

export interface WatchState {
  readonly value: unknown;
  readonly error: { readonly kind: string; readonly message: string; readonly data?: unknown } | undefined;
}

interface Watched {
  readonly queryId: number;
  readonly call: { readonly function: string; readonly args: unknown };
  readonly key: string;
  readonly listeners: Set<(state: WatchState) => void>;
  /** As the server says it. */
  state: WatchState | undefined;
  digest: string;
  /** What listeners were last notified of. */
  announced: string | undefined;
}

interface Version {
  readonly tick: string;
  readonly querySet: number;
}

interface Change {
  readonly updated?: {
    readonly queryId: number;
    readonly value?: unknown;
    readonly digest: string;
    readonly unchanged: boolean;
  };
  readonly failed?: { readonly queryId: number; readonly error: WatchState["error"] };
}

interface Event {
  readonly opened?: { readonly sessionId: string; readonly version: Version };
  readonly transition?: { readonly endVersion: Version; readonly modifications: readonly Change[] };
}

/** What a layer changes: watched queries by their names and arguments. */
export interface LayerStore {
  get(name: string, args: unknown): unknown;
  set(name: string, args: unknown, value: unknown): void;
}

interface Layer {
  readonly apply: (store: LayerStore) => void;
  /** The tick from which on the server shows it; undefined while it is not known. */
  tick: number | undefined;
}

const service = "/service.live.v1.LiveService";

/** One session for all watched queries: it is opened when there are some, and taken up again when it is lost. */
export class LiveSession {
  readonly #transport: Transport;
  readonly #namespace: string;
  readonly #watched = new Map<string, Watched>();
  readonly #layers = new Set<Layer>();
  #sessionId: string | undefined;
  #querySet = 0;
  #tick = 0;
  #ids = 0;
  #running: AbortController | undefined;
  /** Query ids that the server knows of. */
  #known = new Set<number>();
  #sending: Promise<void> | undefined;
  #isClosed = false;

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.#namespace = namespace;
  }

  watch(name: string, args: unknown, listener: (state: WatchState) => void): () => void {
    const key = `${name} ${valueKey(args)}`;
    let watched = this.#watched.get(key);
    if (watched === undefined) {
      const call = { function: name, args: encodeValue(args) };
      watched = {
        queryId: ++this.#ids,
        call,
        key,
        listeners: new Set(),
        state: undefined,
        digest: "",
        announced: undefined,
      };
      this.#watched.set(key, watched);
    } else if (watched.state !== undefined) {
      const shown = this.#shown().get(key) ?? watched.state;
      queueMicrotask(() => listener(shown));
    }
    watched.listeners.add(listener);
    this.#sync();
    const found = watched;
    return () => {
      found.listeners.delete(listener);
      if (found.listeners.size > 0 || this.#watched.get(key) !== found) return;
      this.#watched.delete(key);
      this.#sync();
    };
  }

  /** A change that is shown on top of what the server says, until it says so itself. */
  addLayer(apply: Layer["apply"]): { settle(tick: number): void; drop(): void } {
    const layer: Layer = { apply, tick: undefined };
    this.#layers.add(layer);
    this.#tell();
    return {
      settle: (tick) => {
        layer.tick = tick;
        if (tick <= this.#tick || this.#watched.size === 0) this.#layers.delete(layer);
        this.#tell();
      },
      drop: () => {
        this.#layers.delete(layer);
        this.#tell();
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#running?.abort();
    this.#watched.clear();
  }

  /** Opens the session where there is something to watch, and tells the server of queries that came and went. */
  #sync(): void {
    if (this.#isClosed) return;
    if (this.#watched.size === 0) {
      this.#running?.abort();
      return;
    }
    if (this.#running === undefined) {
      this.#running = new AbortController();
      void this.#run(this.#running.signal);
    } else if (this.#sessionId !== undefined && this.#isBehind) {
      this.#sending ??= Promise.resolve().then(() => this.#modify());
    }
  }

  /** Whether the server has other queries than are watched. */
  get #isBehind(): boolean {
    if (this.#known.size !== this.#watched.size) return true;
    for (const { queryId } of this.#watched.values()) if (!this.#known.has(queryId)) return true;
    return false;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.#follow(signal, () => {
          attempt = 0;
        });
      } catch (error) {
        if (signal.aborted) break;
        const failure = failureOf(error);
        if (
          !["unavailable", "resource_exhausted", "deadline_exceeded", "canceled", "internal"].includes(failure.reason)
        ) {
          this.#fail(failure);
          break;
        }
        await this.#transport.waitBefore(attempt + 1, failure, signal).catch(() => undefined);
      }
    }
    this.#sessionId = undefined;
    this.#running = undefined;
    if (signal.aborted) this.#sync();
  }

  async #follow(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const watched = [...this.#watched.values()];
    this.#sessionId = undefined;
    this.#known = new Set(watched.map(({ queryId }) => queryId));
    const queries = watched.map(({ queryId, call, digest }) => ({ queryId, call, knownDigest: digest }));
    const body = enveloped({ namespace: this.#namespace, queries, minTick: String(this.#tick) });
    const headers = { "content-type": "application/connect+json", "connect-protocol-version": "1" };
    const path = `${service}/Watch`;
    const call = { method: "POST", path, headers, repeatable: true, kind: "read", signal } as const;
    const response = await this.#transport.send(call, body, signal);
    if (response.body === null) throw new ServiceError("unavailable", "the answer has no body");
    for await (const event of messagesOf<Event>(response.body)) {
      if (event.opened !== undefined) {
        onOpen();
        this.#sessionId = event.opened.sessionId;
        this.#querySet = event.opened.version.querySet;
        this.#sync();
      }
      if (event.transition !== undefined) this.#apply(event.transition);
    }
  }

  async #modify(): Promise<void> {
    try {
      const wanted = [...this.#watched.values()];
      const ids = new Set(wanted.map(({ queryId }) => queryId));
      const added = wanted.filter(({ queryId }) => !this.#known.has(queryId));
      const removed = [...this.#known].filter((queryId) => !ids.has(queryId));
      const modifications = [
        ...removed.map((remove) => ({ remove })),
        ...added.map(({ queryId, call, digest }) => ({ add: { queryId, call, knownDigest: digest } })),
      ];
      this.#known = ids;
      const versions = { baseVersion: this.#querySet, newVersion: ++this.#querySet };
      const body = { namespace: this.#namespace, sessionId: this.#sessionId, ...versions, modifications };
      const path = `${service}/ModifyQuerySet`;
      await this.#transport.call({ method: "POST", path, body, repeatable: false, kind: "read" });
    } catch (error) {
      const failure = failureOf(error);
      if (failure.reason === "invalid_argument" || failure.reason === "not_found") this.#failNew(failure);
      // Whatever the server has of it, a new session has all.
      this.#running?.abort();
    } finally {
      this.#sending = undefined;
      this.#sync();
    }
  }

  #apply({ endVersion, modifications }: NonNullable<Event["transition"]>): void {
    this.#tick = Number(endVersion.tick);
    const byId = new Map(Array.from(this.#watched.values(), (each) => [each.queryId, each]));
    for (const { updated, failed } of modifications) {
      const watched = byId.get(updated?.queryId ?? failed?.queryId ?? 0);
      if (watched === undefined) continue;
      if (updated !== undefined) {
        watched.digest = updated.digest;
        if (!updated.unchanged) watched.state = { value: decodeValue(updated.value), error: undefined };
      } else if (failed !== undefined) {
        watched.digest = "";
        watched.state = { value: undefined, error: failed.error };
      }
    }
    for (const layer of this.#layers)
      if (layer.tick !== undefined && layer.tick <= this.#tick) this.#layers.delete(layer);
    this.#tell();
  }

  /** What layers make of what the server says. */
  #shown(): Map<string, WatchState> {
    const changed = new Map<string, WatchState>();
    const keyOf = (name: string, args: unknown) => `${name} ${valueKey(args)}`;
    const store = {
      get: (name: string, args: unknown) => {
        const key = keyOf(name, args);
        return (changed.get(key) ?? this.#watched.get(key)?.state)?.value;
      },
      set: (name: string, args: unknown, value: unknown) => {
        changed.set(keyOf(name, args), { value, error: undefined });
      },
    };
    for (const { apply } of this.#layers) apply(store);
    return changed;
  }

  #tell(): void {
    const changed = this.#shown();
    for (const watched of this.#watched.values()) {
      const state = changed.get(watched.key) ?? watched.state;
      if (state === undefined) continue;
      const text =
        state.error === undefined ? valueKey([state.value]) : valueKey([state.error.message, state.error.kind, 1]);
      if (text === watched.announced) continue;
      watched.announced = text;
      for (const listener of watched.listeners) listener(state);
    }
  }

  #fail({ reason, message }: ServiceError): void {
    const state = { value: undefined, error: { kind: reason, message } };
    for (const { listeners } of this.#watched.values()) for (const listener of listeners) listener(state);
  }

  /** Queries that the server does not take are not asked for again. */
  #failNew({ reason, message }: ServiceError): void {
    const state = { value: undefined, error: { kind: reason, message } };
    for (const watched of [...this.#watched.values()]) {
      if (watched.state !== undefined) continue;
      this.#watched.delete(watched.key);
      for (const listener of watched.listeners) listener(state);
    }
  }
}
