import assert from "node:assert/strict";
import {
  checkSealed,
  DocumentLedger,
  documentSchema,
  verifyDocuments,
  writeDocuments,
} from "../fault/document-ledger.ts";
import {
  checkCounters,
  checkDuplicates,
  linkedParts,
  SentEvents,
  untilGone,
  writeEvents,
  writeRecords,
} from "../fault/event-ledger.ts";
import { Ledger, type StreamShape, sendAppend, type Written } from "../fault/ledger.ts";
import type { SeededRandom } from "../fault/random.ts";
import { CollectionClient } from "../support/collections.ts";
import { EventClient } from "../support/events.ts";
import { ask } from "../support/http.ts";
import type { ServerProcess } from "../support/process.ts";

const shapes: readonly StreamShape[] = [
  { name: "one", partitions: 1 },
  { name: "three", partitions: 3 },
];
const parts: readonly { readonly path: string; readonly body: object }[] = [
  { path: "/v1/namespaces", body: { name: "power" } },
  ...shapes.map((body) => ({ path: "/v1/namespaces/power/streams", body })),
  ...linkedParts,
  { path: "/v1/namespaces/power/collections", body: { name: "docs", schema: documentSchema } },
];
const replaysPerRound = 20;

/** Writers of everything that is acknowledged, and what must be there of it after the power failed. */
export class Load {
  readonly #ledger = new Ledger("power");
  readonly #sent = new SentEvents();
  readonly #documents = [new DocumentLedger(0), new DocumentLedger(1)];
  #round = 0;
  #writesBefore = 0;
  #eventsBefore = 0;
  #documentBatches = 0;
  readonly #asked = new Set<object>();
  readonly #made = new Set<object>();

  /** Makes what the writers need. What was asked for when the power failed may be there already. */
  async prepare(url: string): Promise<void> {
    for (const part of parts) {
      if (this.#made.has(part)) continue;
      const isNew = !this.#asked.has(part);
      this.#asked.add(part);
      const { status, text } = await ask(`${url}${part.path}`, { body: part.body });
      assert.ok(status === 200 || status === 201 || (status === 409 && !isNew), text);
      this.#made.add(part);
    }
  }

  /** Writes until the server is gone; the promises of all writers. */
  run(url: string, random: SeededRandom): Promise<unknown> {
    const round = this.#round++;
    this.#writesBefore = this.#ledger.writes.length;
    this.#eventsBefore = this.#sent.events.length;
    const events = new EventClient(url, "fault");
    const c = new CollectionClient(url, "power");
    const [records, eventWriter] = [random.fork(), random.fork()];
    let n = 0;
    return Promise.all([
      ...[0, 1, 2].map((writer) => this.#append(url, random.fork(), `${round}-${writer}`)),
      untilGone(
        () => writeRecords(events, this.#sent, records),
        () => {},
      ),
      untilGone(
        () => writeEvents(events, this.#sent, eventWriter, `${round}-${n++}`),
        () => {},
      ),
      ...this.#documents.map((ledger) => writeDocuments(c, ledger, random.fork(), () => this.#documentBatches++)),
    ]);
  }

  async #append(url: string, random: SeededRandom, name: string): Promise<void> {
    for (let n = 0; ; n++) {
      const shape = random.pick(shapes);
      const partition = random.chance(0.3) ? undefined : random.between(0, shape.partitions - 1);
      const count = random.chance(0.5) ? 1 : random.between(2, 12);
      const values = Array.from({ length: count }, (_, i) => `${name}-${n}-${i}-${"x".repeat(random.between(0, 900))}`);
      const key = random.chance(0.5) ? `key ${name}-${n}` : undefined;
      const written = this.#ledger.prepare(shape.name, partition, values, key);
      try {
        const answer = await sendAppend(url, written);
        assert.equal(answer.status, 200, answer.text);
        written.acknowledged = answer.text;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  }

  /** Everything that was acknowledged is there, once, and what is derived from it agrees with it. */
  async verify(server: ServerProcess, random: SeededRandom): Promise<void> {
    const { url } = server;
    if (this.#made.size < parts.length) return;
    for (const shape of shapes) await this.#ledger.verify(url, shape);
    await this.#replay(url, random);
    const events = new EventClient(url, "fault");
    if (this.#sent.events.length > 0) await checkDuplicates(events, this.#sent, random, this.#eventsBefore);
    await checkCounters(events);
    const c = new CollectionClient(url, "power");
    await verifyDocuments(c, this.#documents);
    await checkSealed(server, c);
  }

  /** Requests with a key, sent again: the known ones give the reply that their writer got, the others are settled. */
  async #replay(url: string, random: SeededRandom): Promise<void> {
    const isKeyed = ({ idempotencyKey }: Written) => idempotencyKey !== undefined;
    const recent = this.#ledger.writes.slice(this.#writesBefore).filter(isKeyed);
    const known = this.#ledger.acknowledged.filter(isKeyed);
    const chosen = new Set([
      ...recent.filter(({ acknowledged }) => acknowledged !== undefined).slice(-replaysPerRound),
      ...Array.from({ length: Math.min(known.length, replaysPerRound) }, () => random.pick(known)),
    ]);
    for (const written of chosen) {
      const answer = await sendAppend(url, written);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers.get("idempotency-replayed"), "true", "a known key is replayed");
      assert.equal(answer.text, written.acknowledged, "with the reply its writer got");
    }
    for (const written of recent) {
      if (written.acknowledged !== undefined) continue;
      const answer = await sendAppend(url, written);
      assert.equal(answer.status, 200, answer.text);
      written.acknowledged = answer.text;
    }
  }

  get figures(): Readonly<Record<string, number>> {
    return {
      "appends acknowledged": this.#ledger.acknowledged.length,
      "records with keys acknowledged": this.#sent.records,
      "events acknowledged": this.#sent.events.filter(({ place }) => place !== undefined).length,
      "batches of documents acknowledged": this.#documentBatches,
    };
  }
}
