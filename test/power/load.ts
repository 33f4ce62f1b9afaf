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
  writeEvents,
  writeRecords,
} from "../fault/event-ledger.ts";
import { type Habits, Ledger, type StreamShape, untilGone } from "../fault/ledger.ts";
import { LiveLedger } from "../fault/live-ledger.ts";
import type { SeededRandom } from "../fault/random.ts";
import { CollectionClient } from "../support/collections.ts";
import { EventClient } from "../support/events.ts";
import { ask } from "../support/http.ts";
import type { ServerProcess } from "../support/process.ts";

const shapes: readonly StreamShape[] = [
  { name: "one", partitions: 1 },
  { name: "three", partitions: 3 },
];
const habits: Habits = { shapes, single: 0.5, recordsMax: 12, fillMax: 900, keyed: 0.5 };
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
  readonly #live = new LiveLedger("power");
  #round = 0;
  #writesBefore = 0;
  #eventsBefore = 0;
  #documentBatches = 0;
  readonly #asked = new Set<object>();
  readonly #made = new Set<object>();

  /** Makes what the writers need. What was asked for when the power failed may be there already. */
  async prepare({ url, live }: ServerProcess): Promise<void> {
    for (const part of parts) {
      if (this.#made.has(part)) continue;
      const isNew = !this.#asked.has(part);
      this.#asked.add(part);
      const { status, text } = await ask(`${url}${part.path}`, { body: part.body });
      assert.ok(status === 200 || status === 201 || (status === 409 && !isNew), text);
      this.#made.add(part);
    }
    await this.#live.prepare(live);
  }

  /** Writes until the server is gone; the promises of all writers. */
  run({ url, live }: ServerProcess, random: SeededRandom): Promise<unknown> {
    const round = this.#round++;
    this.#writesBefore = this.#ledger.writes.length;
    this.#eventsBefore = this.#sent.events.length;
    const events = new EventClient(url, "fault");
    const c = new CollectionClient(url, "power");
    const [records, eventWriter, liveWriter] = [random.fork(), random.fork(), random.fork()];
    let n = 0;
    return Promise.all([
      ...[0, 1, 2].map((writer) => this.#ledger.write(url, random.fork(), `${round}-${writer}`, habits)),
      untilGone(() => writeRecords(events, this.#sent, records)),
      untilGone(() => writeEvents(events, this.#sent, eventWriter, `${round}-${n++}`)),
      untilGone(() => this.#live.insert(live, liveWriter, `${round}-${n++}`)),
      ...this.#documents.map((ledger) => writeDocuments(c, ledger, random.fork(), () => this.#documentBatches++)),
    ]);
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
    await this.#live.verify(server.live, random);
  }

  /** Requests with a key, sent again: of this round and of earlier ones, and all whose fate is unknown. */
  async #replay(url: string, random: SeededRandom): Promise<void> {
    const recent = this.#ledger.keyed(this.#writesBefore);
    const known = this.#ledger.keyed().filter(({ acknowledged }) => acknowledged !== undefined);
    const chosen = new Set([
      ...recent.filter(({ acknowledged }) => acknowledged !== undefined).slice(-replaysPerRound),
      ...Array.from({ length: Math.min(known.length, replaysPerRound) }, () => random.pick(known)),
      ...recent.filter(({ acknowledged }) => acknowledged === undefined),
    ]);
    await this.#ledger.resend(url, chosen);
  }

  get figures(): Readonly<Record<string, number>> {
    return {
      "appends acknowledged": this.#ledger.acknowledged.length,
      "records with keys acknowledged": this.#sent.records,
      "events acknowledged": this.#sent.events.filter(({ place }) => place !== undefined).length,
      "batches of documents acknowledged": this.#documentBatches,
      "live mutations acknowledged": this.#live.acknowledged,
    };
  }
}
