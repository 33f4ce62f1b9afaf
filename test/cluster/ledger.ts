import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeCluster } from "../support/cluster.ts";

const namespace = "/v1/namespaces/ledger";
const path = `${namespace}/streams/s/partitions/0`;
const eventsPath = `${namespace}/streams/e`;
const documentsPath = `${namespace}/collections/d/documents`;
const body = { name: "body", source_path: "body", kind: { text: { analyzer: "standard" } }, indexed: true };
const answerMsMax = 3_000;

interface Appended {
  readonly base_offset: number;
}

interface Fetched {
  readonly records: readonly { readonly offset: number; readonly value?: string }[];
  readonly next_offset: number;
  readonly high_watermark: number;
}

/** Clients that write and read through every node, and remember what they were told. */
export class Ledger {
  readonly #cluster: NodeCluster;
  readonly #count: number;
  /** Of every acknowledged record, its offset. */
  readonly acknowledged = new Map<string, number>();
  /** Acknowledged documents have the ids from 0 up to this, events the same. */
  documents = 0;
  events = 0;
  reads = 0;
  retries = 0;
  readonly stale: string[] = [];
  #upTo = -1;
  #written = 0;
  #isOver = false;
  readonly #running: Promise<void>[] = [];

  constructor(cluster: NodeCluster) {
    this.#cluster = cluster;
    this.#count = cluster.nodes.length;
  }

  async prepare(): Promise<void> {
    await this.#until(0, "POST", "/v1/namespaces", { name: "ledger" });
    for (const name of ["s", "e"]) await this.#until(0, "POST", `${namespace}/streams`, { name });
    await this.#until(0, "POST", `${namespace}/links`, { name: "l", source: "s" });
    await this.#until(0, "POST", `${namespace}/collections`, { name: "d", schema: { fields: [body] } });
  }

  start(writers = 3, readers = 3): void {
    for (let i = 0; i < writers; i++) this.#running.push(this.#write(i));
    for (let i = 0; i < readers; i++) this.#running.push(this.#read(i));
    this.#running.push(this.#writeDocuments(), this.#writeEvents());
  }

  async #writeDocuments(): Promise<void> {
    for (let id = 0; !this.#isOver; id++) {
      const ops = [{ upsert: { id, source: { body: `word${id} common` } } }];
      await this.#until(id, "POST", documentsPath, { ops }, { "idempotency-key": `document ${id}` });
      this.documents++;
    }
  }

  async #writeEvents(): Promise<void> {
    for (let id = 0; !this.#isOver; id++) {
      const event = { specversion: "1.0", id: `${id}`, source: "/ledger", type: "t" };
      await this.#until(id, "POST", `${eventsPath}/events`, event, { "content-type": "application/cloudevents+json" });
      this.events++;
    }
  }

  /** How many documents there are, how many of them a search finds, and how many records a link has counted. */
  async derived(i: number): Promise<{ documents: number; found: number; counted: number; lag: number }> {
    const { count } = (await this.#until(i, "POST", `${documentsPath}/count`, {})) as { count: number };
    const retrieve = [{ text: { field: "body", query: `word${this.documents - 1} word0` } }];
    const { rows } = (await this.#until(i, "POST", `${namespace}/query`, { from: "d", retrieve })) as {
      rows: object[];
    };
    const link = (await this.#until(i, "GET", `${namespace}/links/l`)) as {
      readonly skipped: number;
      readonly lag: readonly { readonly records: number }[];
    };
    return { documents: count, found: rows.length, counted: link.skipped, lag: link.lag[0]!.records };
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  /**
   * Ends the clients; every node has what was acknowledged, once, and no strong read was stale. Others have written no more than
   * `moreMax` records.
   */
  async verify(t: TestContext, moreMax = 0): Promise<void> {
    await this.stop();
    assert.deepEqual(this.stale, []);
    for (const i of this.#cluster.nodes.keys()) {
      const contents = await this.contents(i);
      const values = [...contents.values()];
      assert.equal(new Set(values).size, values.length, "no record is there twice");
      for (const [value, offset] of this.acknowledged) assert.equal(contents.get(offset), value);
      let derived = await this.derived(i);
      while (derived.lag > 0) derived = await this.derived(i);
      const counted = contents.size;
      const more = [...contents].filter(([, value]) => !this.acknowledged.has(value));
      assert.ok(more.length <= moreMax, `records that nobody was told of: ${JSON.stringify(more)}`);
      assert.deepEqual(derived, { documents: this.documents, found: 2, counted, lag: 0 });
      assert.equal((await this.contents(i, "events")).size, this.events, "every event is there once");
    }
    t.diagnostic(`${this.documents} documents, ${this.events} events`);
    t.diagnostic(`${this.acknowledged.size} acknowledged, ${this.reads} strong reads, ${this.retries} retries`);
  }

  /** How long it took from now until a new record was acknowledged. */
  async nextAcknowledgementMs(): Promise<number> {
    const beganMs = performance.now();
    const before = this.#written;
    // Those that were on their way may have been answered before.
    while (this.#written < before + this.#running.length + 1) await sleep(5);
    return performance.now() - beganMs;
  }

  async #write(writer: number): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const value = Buffer.from(`${writer}-${i}`).toString("base64");
      const headers = { "idempotency-key": `${writer}-${i}` };
      const { base_offset } = (await this.#until(
        writer + i,
        "POST",
        `${path}/records`,
        { records: [{ value }] },
        headers,
      )) as Appended;
      this.acknowledged.set(value, base_offset);
      this.#upTo = Math.max(this.#upTo, base_offset);
      this.#written++;
    }
  }

  /** Must see everything that was acknowledged before it began. */
  async #read(reader: number): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const wanted = this.#upTo;
      const found = await this.#try(reader + i, "GET", `${path}/records?offset=0&max_bytes=1`);
      if (found === undefined) {
        await sleep(20);
        continue;
      }
      this.reads++;
      const { high_watermark } = found as Fetched;
      if (high_watermark <= wanted) this.stale.push(`${high_watermark} of ${wanted + 1} records`);
    }
  }

  /** Everything that a node has. */
  async contents(i: number, of: "records" | "events" = "records"): Promise<Map<number, string>> {
    const all = new Map<number, string>();
    const from = of === "records" ? path : `${eventsPath}/partitions/0`;
    for (let offset = 0; ; ) {
      const page = (await this.#until(i, "GET", `${from}/records?offset=${offset}`)) as Fetched;
      for (const record of page.records) all.set(record.offset, record.value ?? JSON.stringify(record));
      offset = page.next_offset;
      if (offset >= page.high_watermark) return all;
    }
  }

  /** Tries another node after each failure. */
  async #until(node: number, method: string, to: string, body?: object, headers = {}): Promise<unknown> {
    for (let i = node; ; i++) {
      const answer = await this.#try(i, method, to, body, headers);
      if (answer !== undefined) return answer;
      this.retries++;
      await sleep(20);
    }
  }

  /** Undefined where the outcome is to be asked for again. */
  async #try(node: number, method: string, to: string, body?: object, headers = {}): Promise<unknown> {
    let response: Response;
    try {
      response = await fetch(`${this.#cluster.urlOf(node % this.#count)}${to}`, {
        method,
        headers: { ...(body && { "content-type": "application/json" }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(answerMsMax),
      });
      const answer = (await response.json()) as { readonly error?: string };
      if (response.ok) return answer;
      if (response.status === 503 || (response.status === 409 && answer.error === "conflict")) return undefined;
      throw new TypeError(`${method} ${to}: ${response.status} ${JSON.stringify(answer)}`);
    } catch (error) {
      if (error instanceof TypeError && error.message.startsWith(method)) throw error;
      return undefined;
    }
  }
}
