import { toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  LiveService,
  type StateModification,
  type Transition,
  type WatchResponse,
} from "../../src/gen/service/live/v1/live_pb.ts";
import { ask } from "./http.ts";
import type { ServerProcess } from "./process.ts";

export type LiveClient = Client<typeof LiveService>;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type Arguments = { [name: string]: Json };

export function liveClient(url: string, headers: Readonly<Record<string, string>> = {}): LiveClient {
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: "2",
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return createClient(LiveService, transport);
}

const encodings = { plain: undefined, gzip: compressionGzip, br: compressionBrotli };

/** Every protocol, format and encoding. */
export function everyTransport(baseUrl: string): [string, Transport][] {
  return Object.entries(encodings).flatMap(([name, compression]) => {
    const options = { baseUrl, httpVersion: "2" as const, acceptCompression: compression ? [compression] : [] };
    return [false, true].flatMap((useBinaryFormat): [string, Transport][] => {
      const how = `${name}, ${useBinaryFormat ? "protobuf" : "JSON"}`;
      return [
        [`Connect, ${how}`, createConnectTransport({ ...options, useBinaryFormat })],
        [`Connect over HTTP/1.1, ${how}`, createConnectTransport({ ...options, useBinaryFormat, httpVersion: "1.1" })],
        [`gRPC, ${how}`, createGrpcTransport({ ...options, useBinaryFormat })],
        [`gRPC-Web, ${how}`, createGrpcWebTransport({ ...options, useBinaryFormat })],
      ];
    });
  });
}

export function json(value: Value | undefined): Json {
  return value === undefined ? null : (toJson(ValueSchema, value) as Json);
}

/** Calls of one namespace that throw what a function throws. */
export class LiveNamespaceClient {
  readonly client: LiveClient;
  readonly namespace: string;

  constructor(client: LiveClient, namespace: string) {
    this.client = client;
    this.namespace = namespace;
  }

  static async create(server: ServerProcess, namespace: string): Promise<LiveNamespaceClient> {
    await ask(`${server.url}/v1/namespaces`, { method: "POST", body: { name: namespace } });
    return new LiveNamespaceClient(liveClient(server.live), namespace);
  }

  async query(name: string, args: Arguments = {}): Promise<Json> {
    const { namespace } = this;
    const { outcome } = await this.client.query({ namespace, call: { function: name, args: args as never } });
    if (outcome.case === "error") throw new Error(`${outcome.value.kind}: ${outcome.value.message}`);
    return json(outcome.value);
  }

  /** With the tick of the commit. */
  async mutateAt(name: string, args: Arguments = {}, requestId = "") {
    const { namespace } = this;
    const reply = await this.client.mutate({ namespace, call: { function: name, args: args as never }, requestId });
    const { outcome } = reply;
    if (outcome.case === "error") throw new Error(`${outcome.value.kind}: ${outcome.value.message}`);
    return { ...reply, value: json(outcome.value), tick: Number(reply.tick) };
  }

  async mutate(name: string, args: Arguments = {}): Promise<Json> {
    return (await this.mutateAt(name, args)).value;
  }

  /** Opens a session of these queries, numbered from 1. */
  watch(...queries: readonly (readonly [name: string, args: Arguments, knownDigest?: string])[]): LiveWatch {
    return new LiveWatch(this, queries);
  }
}

/** A session, and what it shows. */
export class LiveWatch implements AsyncDisposable {
  readonly shown = new Map<number, Json>();
  readonly failed = new Map<number, string>();
  readonly digests = new Map<number, string>();
  readonly transitions: Transition[] = [];
  sessionId = "";
  querySet = 0;
  readonly #stop = new AbortController();
  readonly #events: AsyncIterator<WatchResponse>;

  constructor(of: LiveNamespaceClient, queries: readonly (readonly [string, Arguments, string?])[]) {
    const request = {
      namespace: of.namespace,
      queries: queries.map(([name, args, knownDigest = ""], i) => ({
        queryId: i + 1,
        call: { function: name, args: args as never },
        knownDigest,
      })),
    };
    this.#events = of.client.watch(request, { signal: this.#stop.signal })[Symbol.asyncIterator]();
  }

  async next(): Promise<WatchResponse["event"]> {
    const { value, done } = await this.#events.next();
    if (done) throw new Error("the session has ended");
    const { event } = value as WatchResponse;
    if (event.case === "opened") this.sessionId = event.value.sessionId;
    if (event.case === "transition") this.#apply(event.value);
    return event;
  }

  /** Reads on until what is shown is as wanted. */
  async until(holds: (shown: ReadonlyMap<number, Json>) => boolean): Promise<void> {
    while (!holds(this.shown)) await this.next();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#events.return?.(undefined)?.then(undefined, () => undefined);
  }

  #apply(transition: Transition): void {
    this.transitions.push(transition);
    this.querySet = transition.endVersion!.querySet;
    for (const { modification } of transition.modifications) this.#change(modification);
  }

  #change(modification: StateModification["modification"]): void {
    if (modification.case === "updated") {
      const { queryId, value, digest, unchanged } = modification.value;
      this.digests.set(queryId, digest);
      this.failed.delete(queryId);
      if (!unchanged) this.shown.set(queryId, json(value));
    } else if (modification.case === "failed") {
      this.failed.set(modification.value.queryId, modification.value.error!.message);
      this.shown.delete(modification.value.queryId);
    } else if (modification.case === "removed") this.shown.delete(modification.value);
  }
}

interface ChangeEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly partitionkey: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What the stream `changes` was told. */
export async function events(at: ServerProcess, namespace: string): Promise<ChangeEvent[]> {
  const path = `/v1/namespaces/${namespace}/streams/changes/partitions/0/events?offset=0`;
  return (await ask(`${at.url}${path}`)).json as ChangeEvent[];
}

/** With a table `notes` whose changes go to the stream `changes`. */
export async function withEvents(at: ServerProcess, namespace: string): Promise<LiveNamespaceClient> {
  const live = await LiveNamespaceClient.create(at, namespace);
  await live.mutate("_tables:create", { table: "notes" });
  await ask(`${at.url}/v1/namespaces/${namespace}/streams`, { body: { name: "changes" } });
  await live.mutate("_tables:events", { table: "notes", stream: "changes" });
  return live;
}
