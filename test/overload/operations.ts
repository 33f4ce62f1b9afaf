import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Pool } from "pg";
import { DocumentService } from "../../src/gen/service/collection/v1/document_pb.ts";
import { QueryService } from "../../src/gen/service/collection/v1/query_pb.ts";
import { ErrorInfoSchema } from "../../src/gen/service/errors/v1/errors_pb.ts";
import { type HttpAnswer, HttpLane } from "./http-lane.ts";
import { CompactLedger, partitions } from "./ledger.ts";
import type { LoadTarget } from "./messages.ts";
import { type Outcome, ok } from "./tally.ts";

/** Documents of one process; few, so that a long run leaves collections as large as a short one. */
export const documentsEach = 2_000;
export const dimension = 16;
/** Connections and calls of one process that are in use at once. */
export const laneLimits = { http: 1_500, polls: 100, rpc: 200, postgres: 40 } as const;
const pollMs = 20_000;
/** What the counter link counts them under. */
const recordKey = Buffer.from("load").toString("base64");
const words = [
  "log",
  "index",
  "query",
  "engine",
  "stream",
  "vector",
  "commit",
  "batch",
  "token",
  "offset",
  "order",
  "link",
];

export interface Operation {
  readonly name: string;
  /** Of all requests, in parts of the sum of weights. */
  readonly weight: number;
  isFull(): boolean;
  run(namespace: string): Promise<Outcome>;
}

/** Everything that the load consists of, over connections of its own. */
export class Operations {
  readonly all: readonly Operation[];
  readonly poll: Operation;
  readonly ledgers: ReadonlyMap<string, CompactLedger>;
  readonly #http: HttpLane;
  readonly #polls: HttpLane;
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #search: Client<typeof QueryService>;
  readonly #documents: Client<typeof DocumentService>;
  readonly #process: number;
  #calls = 0;
  #statements = 0;
  #turn = 0;

  constructor(target: LoadTarget) {
    const { url, postgres, namespaces } = target;
    this.#process = target.process;
    this.#http = new HttpLane(Number(new URL(url).port), laneLimits.http);
    this.#polls = new HttpLane(Number(new URL(url).port), laneLimits.polls);
    const transport = createGrpcTransport({ baseUrl: url });
    this.#search = createClient(QueryService, transport);
    this.#documents = createClient(DocumentService, transport);
    this.ledgers = new Map(namespaces.map(({ name }) => [name, new CompactLedger(target.process)]));
    this.#pools = new Map(
      namespaces.map(({ name }) => {
        const pool = new Pool({ ...postgres, user: "load", database: name, max: laneLimits.postgres });
        // A connection that is lost while idle; one in use rejects its query.
        pool.on("error", () => {});
        return [name, pool];
      }),
    );
    const http = () => this.#http.isFull;
    const rpc = () => this.#calls >= laneLimits.rpc;
    const sql = () => this.#statements >= 2 * laneLimits.postgres;
    this.all = [
      { name: "append", weight: 40, isFull: http, run: (namespace) => this.#append(namespace) },
      { name: "event", weight: 15, isFull: http, run: (namespace) => this.#event(namespace) },
      { name: "fetch", weight: 20, isFull: http, run: (namespace) => this.#fetch(namespace) },
      { name: "document write", weight: 6, isFull: http, run: (namespace) => this.#write(namespace) },
      { name: "query", weight: 6, isFull: http, run: (namespace) => this.#query(namespace) },
      { name: "sql", weight: 2, isFull: http, run: (namespace) => this.#sql(namespace) },
      { name: "postgres", weight: 2, isFull: sql, run: (namespace) => this.#postgres(namespace) },
      { name: "grpc search", weight: 3, isFull: rpc, run: (namespace) => this.#grpcSearch(namespace) },
      { name: "grpc get", weight: 6, isFull: rpc, run: (namespace) => this.#grpcGet(namespace) },
    ];
    this.poll = { name: "long poll", weight: 0, isFull: () => false, run: (namespace) => this.#poll(namespace) };
  }

  async close(): Promise<void> {
    this.#http.close();
    this.#polls.close();
    for (const pool of this.#pools.values()) await pool.end();
  }

  async #append(namespace: string): Promise<Outcome> {
    const ledger = this.ledgers.get(namespace)!;
    const number = ledger.nextAppend();
    const records = ledger
      .values(number)
      .map((value) => ({ key: recordKey, value: Buffer.from(value).toString("base64") }));
    const path = `/v1/namespaces/${namespace}/streams/s/partitions/${number % partitions}/records`;
    const answer = await this.#http.post(path, JSON.stringify({ records }));
    if (answer.status === 200) ledger.appended(number, jsonOf<{ base_offset: number }>(answer).base_offset);
    return judge(answer);
  }

  async #event(namespace: string): Promise<Outcome> {
    const ledger = this.ledgers.get(namespace)!;
    const event = ledger.nextEvent();
    const source = `/load/${this.#process}`;
    const data = { process: this.#process, event };
    const body = JSON.stringify({ specversion: "1.0", type: "load", source, id: String(event), data });
    const path = `/v1/namespaces/${namespace}/streams/e/events`;
    const answer = await this.#http.post(path, body, "application/cloudevents+json");
    if (answer.status !== 200) return judge(answer);
    const [result] = jsonOf<{ events: { status: string; partition: number; offset: number }[] }>(answer).events;
    if (result?.status !== "appended") return { kind: "wrong", detail: `a new event is ${result?.status}` };
    ledger.eventAppended(event, result.partition, result.offset);
    return ok;
  }

  async #fetch(namespace: string): Promise<Outcome> {
    const partition = this.#next(partitions);
    const path = `/v1/namespaces/${namespace}/streams/s/partitions/${partition}/records`;
    return judge(await this.#http.get(`${path}?offset=0&max_bytes=16384`));
  }

  async #write(namespace: string): Promise<Outcome> {
    const ledger = this.ledgers.get(namespace)!;
    const written = Array.from({ length: 3 }, () => {
      const k = this.#next(documentsEach);
      return { id: documentId(this.#process, k), n: this.#turn };
    });
    const ops = written.map(({ id, n }) => ({ upsert: documentOf(id, n) }));
    const path = `/v1/namespaces/${namespace}/collections/c/documents`;
    const answer = await this.#http.post(path, JSON.stringify({ ops }));
    if (answer.status === 200) {
      const { results } = jsonOf<{ results: { version: number }[] }>(answer);
      for (const [i, { id, n }] of written.entries()) ledger.documentWritten(id, results[i]!.version, n);
    }
    return judge(answer);
  }

  async #query(namespace: string): Promise<Outcome> {
    const turn = this.#next(1_000);
    const body = {
      from: "collections.c",
      retrieve: [
        { vector: { field: "v", query: vectorOf(turn), k: 20 } },
        { text: { field: "title", query: `${wordOf(turn)} ${wordOf(turn + 5)}`, k: 20 } },
      ],
      filter: { term: { tag: `t${turn % 5}` } },
      fuse: { method: "rrf", k: 60 },
      limit: 10,
    };
    return judge(await this.#http.post(`/v1/namespaces/${namespace}/query`, JSON.stringify(body)));
  }

  async #sql(namespace: string): Promise<Outcome> {
    const body = { query: statement, params: [`t${this.#next(5)}`] };
    return judge(await this.#http.post(`/v1/namespaces/${namespace}/sql`, JSON.stringify(body)));
  }

  async #postgres(namespace: string): Promise<Outcome> {
    this.#statements++;
    try {
      await this.#pools.get(namespace)!.query(statement.replace("?", "$1"), [`t${this.#next(5)}`]);
      return ok;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      // Insufficient resources, or a statement whose time was over.
      if (code !== undefined && /^(53...|57014)$/.test(code)) return { kind: "refused", code: `sql ${code}` };
      return { kind: "wrong", detail: `postgres ${code}: ${message}` };
    } finally {
      this.#statements--;
    }
  }

  #grpcSearch(namespace: string): Promise<Outcome> {
    const turn = this.#next(1_000);
    const retrieve = [{ retriever: { case: "text" as const, value: { field: "title", query: wordOf(turn), k: 10 } } }];
    return this.#call(() => this.#search.search({ namespace, from: "collections.c", retrieve, limit: 10 }));
  }

  #grpcGet(namespace: string): Promise<Outcome> {
    const ids = Array.from({ length: 5 }, () => BigInt(documentId(this.#process, this.#next(documentsEach))));
    return this.#call(() => this.#documents.getDocuments({ namespace, collection: "c", ids }));
  }

  async #call(run: () => Promise<unknown>): Promise<Outcome> {
    this.#calls++;
    try {
      await run();
      return ok;
    } catch (error) {
      return judgeCall(ConnectError.from(error));
    } finally {
      this.#calls--;
    }
  }

  /** Waits for the next record of a stream that seldom gets one. */
  async #poll(namespace: string): Promise<Outcome> {
    const path = `/v1/namespaces/${namespace}/streams/quiet`;
    const detail = await this.#polls.get(path);
    if (detail.status !== 200) return judge(detail);
    const { partitions } = jsonOf<{ partitions: { high_watermark: number }[] }>(detail);
    const offset = partitions[0]!.high_watermark;
    return judge(await this.#polls.get(`${path}/partitions/0/records?offset=${offset}&max_wait_ms=${pollMs}`));
  }

  #next(below: number): number {
    this.#turn++;
    // A stride that shares no factor with the bounds in use visits them all.
    return (this.#turn * 7_919) % below;
  }
}

const statement =
  "SELECT tag, count(*) AS documents, max(n) AS newest FROM collections.c WHERE tag <> ? GROUP BY tag ORDER BY tag";

export function documentId(process: number, k: number): number {
  return process * 1_000_000 + k;
}

export function documentOf(id: number, n: number): object {
  const title = Array.from({ length: 6 }, (_, i) => wordOf(id * 3 + n + i * 5)).join(" ");
  return { id, source: { title, tag: `t${id % 5}`, n }, vectors: { v: vectorOf(id + n) } };
}

function vectorOf(seed: number): number[] {
  return Array.from({ length: dimension }, (_, i) => Math.round(Math.cos(seed * (i + 1)) * 1_000) / 1_000);
}

function wordOf(i: number): string {
  return words[i % words.length]!;
}

function jsonOf<T>({ body }: HttpAnswer): T {
  return JSON.parse(body.toString()) as T;
}

const refusals: Readonly<Record<number, string>> = { 429: "resource_exhausted", 503: "unavailable" };

/** A refusal is right when it has its code, its words and the hint when to come again. */
export function judge(answer: HttpAnswer): Outcome {
  const { status, head, body } = answer;
  if (status >= 200 && status < 300) return ok;
  const expected = refusals[status];
  const wrong = (why: string): Outcome => ({
    kind: "wrong",
    detail: `${why}: ${status} ${body.toString().slice(0, 300)}`,
  });
  if (expected === undefined) return wrong("not a refusal");
  if (!/^retry-after: \d+\r?$/im.test(head)) return wrong("no Retry-After");
  if (jsonOf<{ error: string }>(answer).error !== expected) return wrong("another error");
  return { kind: "refused", code: String(status) };
}

function judgeCall(error: ConnectError): Outcome {
  const [info] = error.findDetails(ErrorInfoSchema);
  const name = Code[error.code];
  const wrong = (why: string): Outcome => ({ kind: "wrong", detail: `${why}: ${name} ${error.rawMessage}` });
  if (info === undefined) return wrong("no ErrorInfo");
  if (error.code === Code.ResourceExhausted) {
    return info.metadata["retry_after_ms"] === undefined
      ? wrong("no retry_after_ms")
      : { kind: "refused", code: "rpc resource_exhausted" };
  }
  if (error.code === Code.Unavailable) return { kind: "refused", code: "rpc unavailable" };
  return wrong("not a refusal");
}
