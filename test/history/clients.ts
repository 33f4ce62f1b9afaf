import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "../fault/random.ts";
import type { ModelOp } from "../model/collection/model.ts";
import { base64 } from "../support/http.ts";
import { type Connection, NotSent, type Reply } from "./call.ts";
import type { DocumentInput, DocumentOutput, Found } from "./document-model.ts";
import type { History } from "./history.ts";
import { NotLinearizable } from "./linearize.ts";
import type { PartitionInput, PartitionOutput } from "./partition-model.ts";

export const streams = ["one", "two"] as const;
export const partitionsPerStream = 2;
export const pairs = 12;
const namespace = "/v1/namespaces/h";
const retryMs = 50;

export type Token = readonly { readonly stream: number; readonly partition: number; readonly offset: number }[];

/** What clients tell each other beside the server. */
export class Shared {
  /** The newest end of each partition that someone saw. */
  readonly ends = new Map<string, number>();
  readonly tokens = new Map<string, Token>();
  readonly versions = new Map<number, number>();
  #next = 0;

  number(): number {
    return ++this.#next;
  }
}

export interface ClientContext {
  readonly name: string;
  readonly connection: Connection;
  readonly history: History;
  readonly shared: Shared;
  readonly random: SeededRandom;
  readonly isOver: () => boolean;
}

/** An answer that is none of those which the operation may have. */
export class UnexpectedAnswer extends Error {
  constructor(what: string, { status, json }: Reply) {
    super(`${what} was answered with ${status} ${JSON.stringify(json).slice(0, 300)}`);
  }
}

/**
 * Undefined without an answer, or with one that says to try again: whether it happened stays open. So does a conflict without a word about what
 * is in the way: the owner of a cluster was another one by then.
 */
function definite(reply: Reply | undefined): Reply | undefined {
  if (reply === undefined || reply.status === 503 || reply.status === 429) return undefined;
  return reply.json?.error === "conflict" && reply.json.high_watermark === undefined ? undefined : reply;
}

/** Appends and reads partitions until it is over. */
export async function usePartitions(context: ClientContext): Promise<void> {
  const { random, shared } = context;
  while (!context.isOver()) {
    const stream = random.pick(streams);
    const partition = random.between(0, partitionsPerStream - 1);
    const object = `${stream}/${partition}`;
    const end = shared.ends.get(object) ?? 0;
    const choice = random.next();
    let output: PartitionOutput | undefined;
    if (choice < 0.5) {
      const values = Array.from({ length: random.chance(0.6) ? 1 : random.between(2, 4) }, () => `v${shared.number()}`);
      const matchOffset = random.chance(0.5) ? Math.max(0, end - (random.chance(0.1) ? 1 : 0)) : undefined;
      output = await append(context, object, { kind: "append", values, matchOffset });
    } else if (choice < 0.9) {
      const offset = random.chance(0.03) ? end + 1 : Math.max(0, end - random.between(0, 6));
      const input = { kind: "fetch", offset } as const;
      output = random.chance(0.3)
        ? await selectRecords(context, object, input)
        : await fetchPage(context, object, input, random.chance(0.3));
    } else output = await readEnd(context, object);
    if (output === undefined) await delay(retryMs);
  }
}

function partitionPath(object: string): string {
  const [stream, partition] = object.split("/");
  return `${namespace}/streams/${stream}/partitions/${partition}/records`;
}

function append(context: ClientContext, object: string, input: PartitionInput & { kind: "append" }) {
  const { connection, history, shared, name } = context;
  const records = input.values.map((value) => ({ value: base64(value) }));
  const body = { records, ...(input.matchOffset === undefined ? {} : { match_offset: input.matchOffset }) };
  return history.partitions.record(object, name, input, async () => {
    const reply = definite(await connection.call(partitionPath(object), body));
    if (reply === undefined) return undefined;
    const { status, json } = reply;
    if (status === 200) {
      shared.ends.set(object, Math.max(shared.ends.get(object) ?? 0, json.last_offset + 1));
      shared.tokens.set(object, json.token);
      return { kind: "appended", base: json.base_offset, last: json.last_offset };
    }
    if (status !== 409 || json.error !== "conflict") throw new UnexpectedAnswer("an append", reply);
    shared.ends.set(object, Math.max(shared.ends.get(object) ?? 0, json.high_watermark));
    return { kind: "conflict", end: json.high_watermark };
  });
}

function fetchPage(context: ClientContext, object: string, input: PartitionInput & { kind: "fetch" }, isTold: boolean) {
  const { connection, history, shared, name } = context;
  const token = isTold ? shared.tokens.get(object) : undefined;
  return history.partitions.record(object, name, input, async () => {
    const path = `${partitionPath(object)}?offset=${input.offset}&max_bytes=16777216`;
    const reply = definite(await connection.call(path, undefined, strongHeader(token)));
    if (reply === undefined) return undefined;
    const { status, json } = reply;
    if (status === 416) return { kind: "out_of_range", end: json.high_watermark };
    if (status !== 200) throw new UnexpectedAnswer("a fetch", reply);
    const found = json.records as { offset: number; value: string }[];
    if (found.some(({ offset }, i) => offset !== input.offset + i)) {
      throw new NotLinearizable(`${object}: a page from ${input.offset} has the offsets ${found.map((r) => r.offset)}`);
    }
    if (token !== undefined && json.high_watermark <= token[0]!.offset) {
      throw new NotLinearizable(
        `${object}: a read with the token of ${token[0]!.offset} ends at ${json.high_watermark}`,
      );
    }
    shared.ends.set(object, Math.max(shared.ends.get(object) ?? 0, json.high_watermark));
    const values = found.map(({ value }) => Buffer.from(value, "base64").toString());
    return { kind: "page", values, end: json.high_watermark };
  });
}

function selectRecords(
  { connection, history, name }: ClientContext,
  object: string,
  input: PartitionInput & { kind: "fetch" },
) {
  const [stream, partition] = object.split("/");
  const query = `SELECT value FROM streams.${stream} WHERE partition = ${partition} AND "offset" >= ${input.offset} ORDER BY "offset"`;
  return history.partitions.record(object, name, input, async () => {
    const rows = await select<{ value: string }>(connection, query);
    return rows && { kind: "rows", values: rows.map(({ value }) => value) };
  });
}

async function select<Row>(connection: Pick<Connection, "call">, query: string): Promise<readonly Row[] | undefined> {
  const reply = definite(await connection.call(`${namespace}/sql`, { query }));
  if (reply === undefined) return undefined;
  if (reply.status !== 200) throw new UnexpectedAnswer(query, reply);
  return reply.json.rows;
}

function readEnd({ connection, history, name }: ClientContext, object: string) {
  const [stream, partition] = object.split("/");
  return history.partitions.record(object, name, { kind: "end" }, async () => {
    const reply = definite(await connection.call(`${namespace}/streams/${stream}`));
    if (reply === undefined) return undefined;
    if (reply.status !== 200) throw new UnexpectedAnswer("a stream's detail", reply);
    return { kind: "end", end: reply.json.partitions[Number(partition)].high_watermark } as const;
  });
}

function tokenHeader(token: Token): Record<string, string> {
  return { "service-consistency-token": JSON.stringify(token) };
}

/** What the history is made of are strong reads: in a cluster a token alone may be answered by a node that has no more than it names. */
function strongHeader(token: Token | undefined): Record<string, string> {
  return token === undefined ? {} : { ...tokenHeader(token), "service-consistency": "strong" };
}

/** Writes and reads pairs of documents until it is over. */
export async function useDocuments(context: ClientContext): Promise<void> {
  const { random } = context;
  while (!context.isOver()) {
    const pair = random.between(0, pairs - 1);
    const ids = [2 * pair, 2 * pair + 1];
    const some = random.chance(0.7) ? ids : [random.pick(ids)];
    const read = random.chance(0.7) ? getPair : selectPair;
    const output = random.chance(0.5)
      ? await writePair(context, pair, opsFor(context, ids))
      : await read(context, pair, some);
    if (output === undefined) await delay(retryMs);
  }
}

/** Reads few documents with SQL while they are written: a table may be taking over one write when the next one comes. */
export async function useTables(context: ClientContext): Promise<void> {
  const { random, shared } = context;
  while (!context.isOver()) {
    const pair = random.between(0, 1);
    const id = 2 * pair;
    const output = random.chance(0.4)
      ? await writePair(context, pair, [{ kind: "upsert", id, source: { n: shared.number() } }])
      : await selectPair(context, pair, [id]);
    if (output === undefined) await delay(retryMs);
  }
}

function opsFor({ random, shared }: ClientContext, ids: readonly number[]): ModelOp[] {
  const n = shared.number();
  if (random.chance(0.3)) return ids.map((id) => ({ kind: "upsert", id, source: { n } }));
  const id = random.pick(ids);
  const condition = random.chance(0.6) ? { if_version: shared.versions.get(id) ?? 0 } : {};
  const kind = random.pick(["upsert", "upsert", "patch", "insert", "delete"] as const);
  switch (kind) {
    case "delete":
      return [{ kind, id, ...condition }];
    case "patch":
      return [{ kind, id, source: { patched: n }, ...condition }];
    default:
      return [{ kind, id, source: { n }, ...condition }];
  }
}

const documentsPath = `${namespace}/collections/docs/documents`;

function writePair(context: ClientContext, pair: number, ops: readonly ModelOp[]) {
  const { connection, history, shared, name } = context;
  const object = `documents ${2 * pair} and ${2 * pair + 1}`;
  const input: DocumentInput = { kind: "write", ops };
  return history.documents.record(object, name, input, async (): Promise<DocumentOutput | undefined> => {
    const reply = definite(
      await connection.call(documentsPath, { ops: ops.map(({ kind, ...op }) => ({ [kind]: op })) }),
    );
    if (reply === undefined) return undefined;
    const { status, json } = reply;
    if (status === 200) {
      for (const { id, version, status: done } of json.results) {
        shared.versions.set(id, done === "deleted" ? 0 : version);
      }
      shared.tokens.set(object, json.token);
      return { kind: "written", results: json.results };
    }
    if (json.error !== "already_exists" && json.error !== "not_found") throw new UnexpectedAnswer("a write", reply);
    return { kind: "refused", reason: json.error };
  });
}

function getPair(context: ClientContext, pair: number, ids: readonly number[]) {
  const { connection, history, shared, name, random } = context;
  const object = `documents ${2 * pair} and ${2 * pair + 1}`;
  const headers = strongHeader(random.chance(0.3) ? shared.tokens.get(object) : undefined);
  return history.documents.record(object, name, { kind: "get", ids }, async () => {
    const reply = definite(await connection.call(`${documentsPath}/get`, { ids }, headers));
    if (reply === undefined) return undefined;
    if (reply.status !== 200) throw new UnexpectedAnswer("a read of documents", reply);
    const documents = (reply.json.documents as StoredDocument[]).map(({ id, found, version, source }): Found => {
      if (!found) return { id, version: 0, n: undefined };
      shared.versions.set(id, version);
      return { id, version, n: source.patched ?? source.n };
    });
    return { kind: "found", documents } as const;
  });
}

function selectPair({ connection, history, name }: ClientContext, pair: number, ids: readonly number[]) {
  const object = `documents ${2 * pair} and ${2 * pair + 1}`;
  const query = `SELECT _id, n, _source->>'patched' AS patched FROM docs WHERE _id IN (${ids})`;
  return history.documents.record(object, name, { kind: "get", ids }, async () => {
    const rows = await select<{ _id: number; n: number | null; patched: string | null }>(connection, query);
    const documents = ids.map((id): Found => {
      const row = rows?.find(({ _id }) => _id === id);
      if (row === undefined) return { id, version: 0, n: undefined };
      return { id, version: undefined, n: row.patched === null ? (row.n ?? undefined) : Number(row.patched) };
    });
    return rows && ({ kind: "found", documents } as const);
  });
}

interface StoredDocument {
  readonly id: number;
  readonly found: boolean;
  readonly version: number;
  readonly source: { readonly n?: number; readonly patched?: number };
}

/**
 * Writes, and reads what is derived from it with the write's token: a counter, and a document by an eventual read. Each client
 * has a counter and a document of its own, which only grow. Returns how many reads with a token were answered.
 */
export async function useTokens(context: ClientContext, number: number): Promise<number> {
  const { connection, name, random } = context;
  const id = 1000 + number;
  let [sent, counted, n, reads] = [0, 0, 0, 0];
  const call: Connection["call"] = (...request) => connection.call(...request).catch(orUndefined);
  while (!context.isOver()) {
    await delay(random.between(0, 30));
    sent++;
    const body = { records: [{ key: base64(name) }] };
    const appended = await call(`${namespace}/streams/counted/partitions/0/records`, body);
    if (appended?.status === 200) {
      counted++;
      const link = await call(`${namespace}/links/counts`, undefined, tokenHeader(appended.json.token));
      if (link?.status === 200) {
        reads++;
        const count = (link.json.counters[name] as number | undefined) ?? 0;
        if (count < counted || count > sent) {
          throw new NotLinearizable(`with its token, ${name} counts ${count} of ${counted} to ${sent} records`);
        }
      }
      const query = `SELECT value FROM links.counts WHERE counter = '${name}'`;
      const rows = await select<{ value: number }>({ call }, query);
      const value = rows?.[0]?.value ?? 0;
      if (rows !== undefined && (value < counted || value > sent)) {
        throw new NotLinearizable(`in SQL, ${name} counts ${value} of ${counted} to ${sent} records`);
      }
    }
    const written = await call(documentsPath, { ops: [{ upsert: { id, source: { n: ++n } } }] });
    if (written?.status !== 200) continue;
    const eventual = { ids: [id], consistency: "eventual" };
    const got = await call(`${documentsPath}/get`, eventual, tokenHeader(written.json.token));
    if (got?.status !== 200) continue;
    reads++;
    if (!got.json.documents[0].found || got.json.documents[0].source.n < n) {
      throw new NotLinearizable(`an eventual read with the token of ${n} has ${JSON.stringify(got.json.documents[0])}`);
    }
  }
  return reads;
}

function orUndefined(error: unknown): undefined {
  if (!(error instanceof NotSent)) throw error;
}

/** Reads everything once more; the server answers, for the faults are over. */
export async function readLast(context: ClientContext): Promise<void> {
  for (const stream of streams) {
    for (let partition = 0; partition < partitionsPerStream; partition++) {
      await insist(() => fetchPage(context, `${stream}/${partition}`, { kind: "fetch", offset: 0 }, false));
    }
  }
  for (let pair = 0; pair < pairs; pair++) await insist(() => getPair(context, pair, [2 * pair, 2 * pair + 1]));
}

async function insist<T>(act: () => Promise<T | undefined>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await act()) !== undefined) return;
    await delay(100);
  }
  throw new Error("the server does not answer although there are no faults any more");
}
