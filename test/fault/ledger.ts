import assert from "node:assert/strict";
import { type Answer, ask, base64 } from "../support/http.ts";
import type { SeededRandom } from "./random.ts";

export interface StreamShape {
  readonly name: string;
  readonly partitions: number;
  readonly retentionBytes?: number;
}

/** One append as its writer knows it. */
export interface Written {
  readonly stream: string;
  readonly path: string;
  readonly values: readonly string[];
  readonly body: string;
  readonly idempotencyKey: string | undefined;
  /** The text of the acknowledgement; without it the outcome is unknown. */
  acknowledged: string | undefined;
}

/** What a writer chooses from. */
export interface Habits {
  readonly shapes: readonly StreamShape[];
  /** The share of requests with one record; others have up to `recordsMax`. */
  readonly single: number;
  readonly recordsMax: number;
  /** Bytes that a value has besides its name. */
  readonly fillMax: number;
  /** The share of requests with an idempotency key. */
  readonly keyed: number;
}

interface Stored {
  readonly partition: number;
  readonly offset: number;
}

interface Append {
  readonly base_offset: number;
  readonly last_offset: number;
  readonly token: readonly { readonly partition: number }[];
}

/** Writes again and again until the server is gone; a wrong answer is none of its going. */
export async function untilGone(write: () => Promise<void>, onAcknowledged: () => void = () => {}): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    onAcknowledged();
  }
}

export function sendAppend(url: string, written: Written): Promise<Answer> {
  const { idempotencyKey } = written;
  return ask(`${url}${written.path}`, {
    body: written.body,
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  });
}

/** What writers were told, and whether a server still has all of it. */
export class Ledger {
  readonly #namespace: string;
  readonly writes: Written[] = [];

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  path(stream: string): string {
    return `/v1/namespaces/${this.#namespace}/streams/${stream}`;
  }

  /** An append about to be sent: to one partition, or without one to the partitions of its records' keys. */
  prepare(
    stream: string,
    partition: number | undefined,
    values: readonly string[],
    idempotencyKey: string | undefined,
  ): Written {
    const records = values.map((value, i) => ({
      value: base64(value),
      ...(partition === undefined ? { key: base64(`key-${value.length + i}`) } : {}),
    }));
    const path = `${this.path(stream)}${partition === undefined ? "" : `/partitions/${partition}`}/records`;
    const body = JSON.stringify({ records });
    const written: Written = { stream, path, values, body, idempotencyKey, acknowledged: undefined };
    this.writes.push(written);
    return written;
  }

  /** Appends one request after another until the server is gone. `name` makes the values of a writer its own. */
  write(
    url: string,
    random: SeededRandom,
    name: string,
    habits: Habits,
    onAcknowledged: () => void = () => {},
  ): Promise<void> {
    let n = 0;
    return untilGone(() => this.#send(url, this.#choose(random, `${name}-${n++}`, habits)), onAcknowledged);
  }

  #choose(random: SeededRandom, name: string, { shapes, single, recordsMax, fillMax, keyed }: Habits): Written {
    const shape = random.pick(shapes);
    const partition = random.chance(0.3) ? undefined : random.between(0, shape.partitions - 1);
    const count = random.chance(single) ? 1 : random.between(2, recordsMax);
    const values = Array.from({ length: count }, (_, i) => `${name}-${i}-${"x".repeat(random.between(0, fillMax))}`);
    return this.prepare(shape.name, partition, values, random.chance(keyed) ? `key ${name}` : undefined);
  }

  async #send(url: string, written: Written): Promise<void> {
    const answer = await sendAppend(url, written);
    assert.equal(answer.status, 200, answer.text);
    written.acknowledged = answer.text;
  }

  /** Sends requests with a key again: one that was answered gives that answer, one whose fate is unknown is settled. */
  async resend(url: string, writes: Iterable<Written>): Promise<void> {
    for (const written of writes) {
      if (written.acknowledged === undefined) {
        await this.#send(url, written);
        continue;
      }
      const answer = await sendAppend(url, written);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers.get("idempotency-replayed"), "true", "a known key is replayed");
      assert.equal(answer.text, written.acknowledged, "with the reply its writer got");
    }
  }

  /** Requests with a key, from one of the ledger's on. */
  keyed(from = 0): Written[] {
    return this.writes.slice(from).filter(({ idempotencyKey }) => idempotencyKey !== undefined);
  }

  get acknowledged(): Written[] {
    return this.writes.filter(({ acknowledged }) => acknowledged !== undefined);
  }

  /**
   * Reads every partition: offsets are consecutive, every acknowledged record has its value at its offset, and of a
   * request's records all are there or none. Returns the number of requests that landed without an acknowledgement.
   */
  async verify(url: string, shape: StreamShape): Promise<number> {
    const stored = new Map<string, Stored>();
    const byPlace = new Map<string, string>();
    const starts: number[] = [];
    for (let partition = 0; partition < shape.partitions; partition++) {
      starts.push(await this.#readPartition(url, shape, partition, stored, byPlace));
    }
    let unacknowledged = 0;
    for (const written of this.writes) {
      if (written.stream !== shape.name) continue;
      if (written.acknowledged !== undefined) checkAcknowledged(written, starts, byPlace);
      else if (checkWhole(written, stored, shape.retentionBytes !== undefined)) unacknowledged++;
    }
    return unacknowledged;
  }

  async #readPartition(
    url: string,
    shape: StreamShape,
    partition: number,
    stored: Map<string, Stored>,
    byPlace: Map<string, string>,
  ): Promise<number> {
    const detail = await ask(`${url}${this.path(shape.name)}`);
    assert.equal(detail.status, 200, detail.text);
    const start: number = detail.json.partitions[partition].log_start_offset;
    if (shape.retentionBytes === undefined) assert.equal(start, 0, "nothing is trimmed without a retention");
    let next = start;
    for (;;) {
      const records = `${url}${this.path(shape.name)}/partitions/${partition}/records`;
      const page = await ask(`${records}?offset=${next}&max_bytes=4194304`);
      assert.equal(page.status, 200, page.text);
      for (const record of page.json.records as { offset: number; value: string }[]) {
        assert.equal(record.offset, next, `${shape.name}/${partition}: offsets are consecutive`);
        const value = Buffer.from(record.value, "base64").toString();
        assert(!stored.has(value), `${shape.name}/${partition}: ${value.slice(0, 40)} is stored once`);
        stored.set(value, { partition, offset: next });
        byPlace.set(`${partition}/${next}`, value);
        next++;
      }
      assert.equal(page.json.next_offset, next);
      if (next === page.json.high_watermark) return start;
    }
  }
}

function appendsOf(written: Written): { partition: number; base: number; count: number }[] {
  const reply = JSON.parse(written.acknowledged!) as { appends?: Append[] } & Append;
  return (reply.appends ?? [reply]).map(({ base_offset, last_offset, token }) => ({
    partition: token[0]!.partition,
    base: base_offset,
    count: last_offset - base_offset + 1,
  }));
}

function checkAcknowledged(written: Written, starts: readonly number[], byPlace: ReadonlyMap<string, string>): void {
  const appends = appendsOf(written);
  const expected = new Set(written.values);
  let count = 0;
  for (const { partition, base, count: records } of appends) {
    count += records;
    let position = -1;
    for (let offset = base; offset < base + records; offset++) {
      if (offset < starts[partition]!) continue;
      const value = byPlace.get(`${partition}/${offset}`);
      assert(value !== undefined, `${written.stream}/${partition}: acknowledged offset ${offset} is there`);
      assert(expected.delete(value), `${written.stream}/${partition}: offset ${offset} has its acknowledged value`);
      const at = written.values.indexOf(value);
      assert(at > position, "a partition keeps the order of the request's records");
      position = at;
    }
  }
  assert.equal(count, written.values.length, "every record of the request was acknowledged");
}

/** Whether a request without an answer landed: then with all its records. */
function checkWhole(written: Written, stored: ReadonlyMap<string, Stored>, trimmed: boolean): boolean {
  const present = written.values.filter((value) => stored.has(value)).length;
  if (present === 0) return false;
  if (!trimmed) assert.equal(present, written.values.length, `${written.stream}: a request is stored as a whole`);
  return true;
}
