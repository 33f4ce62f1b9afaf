import { ServiceError } from "./error.ts";
import { merge } from "./merge.ts";
import { formatQuery, type RecordJson, recordJson, storedRecord } from "./record.ts";
import { serverSentEvents } from "./server-sent-events.ts";
import {
  type Call,
  type CallOptions,
  failureOf,
  isRetryable,
  part,
  randomKey,
  sleep,
  type Transport,
} from "./transport.ts";
import type {
  AppendReply,
  CloudEvent,
  EventPage,
  EventsReply,
  NewRecord,
  RecordFormat,
  RecordPage,
  Retention,
  RoutedAppendReply,
  StoredRecord,
  StreamDetail,
} from "./types.ts";

export interface AppendOptions<F extends RecordFormat = "bytes"> extends CallOptions, Formatted<F> {
  /** The base offset that the writer expects; another one is a `conflict`. */
  readonly matchOffset?: number;
  /** The same key again is the same write; without one the client makes its own, for its retries. */
  readonly idempotencyKey?: string;
}

interface Formatted<F extends RecordFormat> {
  /** `bytes` by default. */
  readonly format?: F;
}

/** Where reading starts: an offset, the first record there is, the next one to come, or the first one of a time. */
export type From = number | "start" | "end" | { readonly timestampMs: number };

export interface FetchOptions<F extends RecordFormat = "bytes"> extends CallOptions, Formatted<F> {
  readonly partition?: number;
  readonly from: number | { readonly timestampMs: number };
  readonly maxBytes?: number;
  /** How long the server waits for a first record. */
  readonly maxWaitMs?: number;
}

export interface TailOptions<F extends RecordFormat = "bytes"> extends CallOptions, Formatted<F> {
  /** One partition; without it all of them, each in its own order. */
  readonly partition?: number;
  /** `end` by default: what comes from now on. */
  readonly from?: From;
}

/** The server sends a sign of life every 15 s; past this the connection is taken for dead. */
const silenceMsMax = 45_000;

/** One stream of a namespace. */
export class StreamClient {
  readonly name: string;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, namespacePath: string, name: string) {
    this.name = name;
    this.#transport = transport;
    this.#path = `${namespacePath}/streams/${part(name)}`;
  }

  get(options: CallOptions = {}): Promise<StreamDetail> {
    return this.#transport.call({ ...options, method: "GET", path: this.#path, repeatable: true, kind: "read" });
  }

  async delete(options: CallOptions = {}): Promise<void> {
    await this.#transport.call({ ...options, method: "DELETE", path: this.#path, repeatable: false, kind: "write" });
  }

  /** `null` keeps records for ever. */
  setRetention(retention: Retention | null, options: CallOptions = {}): Promise<StreamDetail> {
    const body = { retention };
    return this.#transport.call({
      ...options,
      method: "PATCH",
      path: this.#path,
      body,
      repeatable: true,
      kind: "write",
    });
  }

  /** Appends to one partition, all records or none; durable when it resolves. */
  append<F extends RecordFormat = "bytes">(
    partition: number,
    records: readonly NewRecord<F>[],
    options: AppendOptions<F> = {},
  ): Promise<AppendReply> {
    const { matchOffset, idempotencyKey = randomKey(), format, signal } = options;
    return this.#transport.call({
      method: "POST",
      path: this.#records(partition),
      query: formatQuery(format),
      body: {
        records: records.map((record) => recordJson(record, format)),
        ...(matchOffset === undefined ? {} : { match_offset: matchOffset }),
      },
      headers: { "idempotency-key": idempotencyKey },
      repeatable: true,
      kind: "write",
      signal,
    });
  }

  /** Appends each record to the partition of its key, all records or none. */
  appendByKey<F extends RecordFormat = "bytes">(
    records: readonly NewRecord<F>[],
    options: Omit<AppendOptions<F>, "matchOffset"> = {},
  ): Promise<RoutedAppendReply> {
    const { idempotencyKey = randomKey(), format, signal } = options;
    return this.#transport.call({
      method: "POST",
      path: `${this.#path}/records`,
      query: formatQuery(format),
      body: { records: records.map((record) => recordJson(record, format)) },
      headers: { "idempotency-key": idempotencyKey },
      repeatable: true,
      kind: "write",
      signal,
    });
  }

  async fetch<F extends RecordFormat = "bytes">(options: FetchOptions<F>): Promise<RecordPage<F>> {
    const { partition = 0, from, maxBytes, maxWaitMs = 0, format, signal } = options;
    const page = await this.#transport.call<Omit<RecordPage, "records"> & { records: RecordJson[] }>({
      method: "GET",
      path: this.#records(partition),
      query: { ...fromQuery(from), max_bytes: maxBytes, max_wait_ms: maxWaitMs, ...formatQuery(format) },
      repeatable: true,
      kind: "read",
      waitMs: maxWaitMs,
      signal,
    });
    return { ...page, records: page.records.map((record) => storedRecord(partition, record, format)) };
  }

  /** Appends CloudEvents; each pair of source and id is written once, so that it is safe to repeat. */
  appendEvents(
    events: readonly CloudEvent[],
    options: CallOptions & { readonly partition?: number } = {},
  ): Promise<EventsReply> {
    return this.#transport.call({
      method: "POST",
      path: `${this.#path}/events`,
      query: { partition: options.partition },
      body: events,
      headers: { "content-type": "application/cloudevents-batch+json" },
      repeatable: true,
      kind: "write",
      signal: options.signal,
    });
  }

  async fetchEvents(options: Omit<FetchOptions, "format">): Promise<EventPage> {
    const { partition = 0, from, maxBytes, maxWaitMs = 0, signal } = options;
    const call: Call = {
      method: "GET",
      path: `${this.#path}/partitions/${part(partition)}/events`,
      query: { ...fromQuery(from), max_bytes: maxBytes, max_wait_ms: maxWaitMs },
      repeatable: true,
      kind: "read",
      waitMs: maxWaitMs,
      signal,
    };
    return await this.#transport.attempts(call, async (response) => ({
      events: this.#transport.parse(await response.text()) as CloudEvent[],
      next_offset: Number(response.headers.get("service-next-offset")),
      high_watermark: Number(response.headers.get("service-high-watermark")),
    }));
  }

  /** The records up to the end that the partition has when it is first asked. */
  async *read<F extends RecordFormat = "bytes">(
    options: { partition?: number; from?: From; to?: number } & CallOptions & Formatted<F> = {},
  ): AsyncGenerator<StoredRecord<F>> {
    const { partition = 0, from = "start", format, signal } = options;
    const detail = (await this.get({ signal })).partitions[partition];
    if (detail === undefined) throw new ServiceError("not_found", `there is no partition ${partition}`);
    const end = Math.min(options.to ?? Infinity, detail.high_watermark);
    let next = from === "start" ? detail.log_start_offset : from === "end" ? detail.high_watermark : from;
    while (typeof next !== "number" || next < end) {
      const formatted = format === undefined ? {} : { format };
      const maxBytes = 4 * 1024 * 1024;
      const page: RecordPage<F> = await this.fetch({ partition, from: next, maxBytes, signal, ...formatted });
      for (const record of page.records) {
        if (record.offset >= end) return;
        yield record;
      }
      if (page.records.length === 0) return;
      next = page.next_offset;
    }
  }

  /**
   * Records as they come, for ever: a lost connection is taken up again where it ended, as long as the server comes
   * back. Ends with the caller's signal, or with an error that trying again can't mend.
   */
  async *tail<F extends RecordFormat = "bytes">(options: TailOptions<F> = {}): AsyncGenerator<StoredRecord<F>> {
    const { partition, from = "end", format, signal } = options;
    if (partition !== undefined) {
      yield* this.#tailOne(partition, from, format, signal);
      return;
    }
    const { partitions } = await this.get({ signal });
    // A tail that waits for its next record hears only of a signal that nobody wants more.
    const left = new AbortController();
    const onAbort = () => left.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
    try {
      yield* merge(partitions.map((each) => this.#tailOne(each.partition, from, format, left.signal)));
    } finally {
      signal?.removeEventListener("abort", onAbort);
      left.abort();
    }
  }

  async *#tailOne<F extends RecordFormat>(
    partition: number,
    from: From,
    format: F | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StoredRecord<F>> {
    let next = await this.#resolve(partition, from, signal);
    for (let failures = 0; ; failures++) {
      signal?.throwIfAborted();
      let failure = new ServiceError("unavailable", "the server ended the tail");
      try {
        for await (const record of this.#connect(partition, next, format, signal)) {
          failures = 0;
          if (record === undefined) continue;
          next = record.offset + 1;
          yield record;
        }
      } catch (error) {
        signal?.throwIfAborted();
        failure = failureOf(error);
        // A tail is meant to stay: it waits for as long as the server is away.
        if (!isRetryable(failure, true)) throw failure;
      }
      await this.#transport.waitBefore(Math.min(failures + 1, 8), failure, signal);
    }
  }

  /** Records of one connection; undefined for a sign of life. */
  async *#connect<F extends RecordFormat>(
    partition: number,
    from: number | { readonly timestampMs: number },
    format: F | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StoredRecord<F> | undefined> {
    const connection = new AbortController();
    const onAbort = () => connection.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => connection.abort(), silenceMsMax);
    };
    try {
      heard();
      const call: Call = {
        method: "GET",
        path: this.#records(partition),
        query: { ...fromQuery(from), ...formatQuery(format) },
        headers: { accept: "text/event-stream" },
        repeatable: true,
        kind: "read",
      };
      const response = await this.#transport.send(call, undefined, connection.signal);
      for await (const event of serverSentEvents(response.body!)) {
        heard();
        if (event === undefined) yield undefined;
        else if (event.event === "error") throw tailError(event.data);
        else {
          yield storedRecord(partition, this.#transport.parse(event.data) as RecordJson, format);
          // The consumer may have taken its time, in which nothing was read.
          heard();
        }
      }
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener("abort", onAbort);
      connection.abort();
    }
  }

  async #resolve(
    partition: number,
    from: From,
    signal: AbortSignal | undefined,
  ): Promise<number | { readonly timestampMs: number }> {
    if (from !== "start" && from !== "end") return from;
    for (let failures = 1; ; failures++) {
      try {
        const info = (await this.get({ signal })).partitions[partition];
        if (info === undefined) throw new ServiceError("not_found", `there is no partition ${partition}`);
        return from === "start" ? info.log_start_offset : info.high_watermark;
      } catch (error) {
        const failure = failureOf(error);
        if (signal?.aborted || failures >= this.#transport.attemptsMax || failure.reason !== "unavailable") throw error;
        await sleep(1000, signal);
      }
    }
  }

  #records(partition: number): string {
    return `${this.#path}/partitions/${part(partition)}/records`;
  }
}

function fromQuery(from: number | { readonly timestampMs: number }) {
  return typeof from === "number" ? { offset: from } : { timestamp_ms: from.timestampMs };
}

function tailError(data: string): ServiceError {
  const body = JSON.parse(data) as { error?: string; message?: string };
  return new ServiceError(body.error ?? "internal", body.message ?? "the tail failed", {
    status: body.error === "unavailable" ? 503 : 500,
    details: body,
  });
}
