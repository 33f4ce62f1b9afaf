import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { CollectionClient } from "../support/collections.ts";
import type { Answer } from "../support/http.ts";
import { readRows } from "../support/lance-reader.ts";
import type { ServerProcess } from "../support/process.ts";
import { untilGone } from "./ledger.ts";
import type { SeededRandom } from "./random.ts";

/** Each writer has documents of its own, so that what it was told is what must be there. */
const idsPerWriter = 400;
const words = ["red", "green", "blue", "grey"];

interface Known {
  /** 0: there is no document. */
  readonly version: number;
  readonly source: { readonly word: string; readonly n: number; readonly pad: string } | undefined;
}

interface Batch {
  readonly states: ReadonlyMap<number, Known>;
}

/** What one writer was told of its documents, and the batch whose answer never came. */
export class DocumentLedger {
  readonly #first: number;
  readonly known = new Map<number, Known>();
  unknown: Batch | undefined;
  #next = 0;

  constructor(writer: number) {
    this.#first = writer * idsPerWriter;
  }

  /** Operations on some documents, and what they leave if they are applied. */
  prepare(random: SeededRandom): { ops: object[]; batch: Batch } {
    const states = new Map<number, Known>();
    const ops: object[] = [];
    const count = random.between(1, 30);
    for (let i = 0; i < count; i++) {
      const id = this.#first + random.between(0, idsPerWriter - 1);
      const before = states.get(id) ?? this.known.get(id) ?? { version: 0, source: undefined };
      if (before.version > 0 && random.chance(0.2)) {
        ops.push({ delete: { id } });
        states.set(id, { version: 0, source: undefined });
        continue;
      }
      const source = {
        word: random.pick(words),
        n: this.#first * 1_000_000 + this.#next++,
        pad: "x".repeat(random.between(0, 300)),
      };
      if (before.version > 0 && random.chance(0.3)) ops.push({ patch: { id, source } });
      else ops.push({ upsert: { id, source } });
      states.set(id, { version: before.version + 1, source });
    }
    return { ops, batch: { states } };
  }

  acknowledge({ states }: Batch): void {
    for (const [id, state] of states) this.known.set(id, state);
  }
}

export const documentSchema = {
  fields: [
    { name: "word", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ],
};

export function writeDocuments(
  c: CollectionClient,
  ledger: DocumentLedger,
  random: SeededRandom,
  onAcknowledged: () => void,
): Promise<void> {
  return untilGone(async () => {
    const { ops, batch } = ledger.prepare(random);
    ledger.unknown = batch;
    const answer = await c.write("docs", ops);
    assert.equal(answer.status, 200, answer.text);
    ledger.acknowledge(batch);
    ledger.unknown = undefined;
  }, onAcknowledged);
}

/** Compares everything that can be read with what the writers know; returns how many unanswered batches had landed. */
export async function verifyDocuments(c: CollectionClient, ledgers: readonly DocumentLedger[]): Promise<number> {
  let landed = 0;
  const stored = await readAll(c);
  for (const ledger of ledgers) {
    if (ledger.unknown === undefined) continue;
    // All or nothing: if one document of the batch is as it would leave it, all of them are.
    const states = [...ledger.unknown.states];
    const applied = states.filter(
      ([id, state]) => same(stored.get(id), state) && !same(stored.get(id), ledger.known.get(id)),
    );
    const whole = states.every(([id, state]) => same(stored.get(id), state));
    if (applied.length > 0) {
      assert.ok(whole, `a batch is whole: ${applied.length} of ${states.length}`);
      ledger.acknowledge(ledger.unknown);
      landed++;
    }
    ledger.unknown = undefined;
  }
  const wanted = new Map(ledgers.flatMap(({ known }) => [...known]).filter(([, { version }]) => version > 0));
  assert.deepEqual(new Map([...stored].sort(byId)), new Map([...wanted].sort(byId)));
  assert.equal(await c.count("docs"), wanted.size);
  for (const word of words) {
    const ids = [...wanted].filter(([, { source }]) => source!.word === word).map(([id]) => id);
    const filter = { term: { word } };
    assert.deepEqual(
      await c.ids("docs", filter),
      ids.sort((a, b) => a - b),
      word,
    );
    assert.equal(await c.count("docs", filter), ids.length);
  }
  const some = [...wanted][Math.floor(wanted.size / 2)];
  if (some !== undefined) assert.deepEqual(await c.ids("docs", { term: { n: some[1].source!.n } }), [some[0]]);
  return landed;
}

function byId([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number {
  return a - b;
}

function same(a: Known | undefined, b: Known | undefined): boolean {
  if ((a?.version ?? 0) !== (b?.version ?? 0)) return false;
  return a?.source?.n === b?.source?.n;
}

async function readAll(c: CollectionClient): Promise<Map<number, Known>> {
  const found = new Map<number, Known>();
  let cursor: string | null = null;
  do {
    const page: Answer = await c.post("docs", "scroll", { limit: 500, cursor });
    assert.equal(page.status, 200, page.text);
    for (const { id, version, source } of page.json.documents) found.set(id, { version, source });
    cursor = page.json.next_cursor;
  } while (cursor !== null);
  return found;
}

/** What a start must read again is the log behind the manifest; sealed, nothing is, and the dataset has all of it. */
export async function checkSealed(server: ServerProcess, c: CollectionClient): Promise<void> {
  await c.sealed("docs");
  const { manifest } = await c.info("docs");
  const plan = await c.scan("docs");
  assert.equal(plan.json.tail_records, 0);
  assert.equal(manifest.applied, (plan.json.token[0]?.offset ?? -1) + 1, "nothing of the log is left to replay");
  const { lance } = plan.json;
  const rows = lance === null ? [] : await readRows(fileURLToPath(lance.uri), lance.version);
  const stored = [...(await readAll(c))].map(([id, { source }]) => ({ id, word: source!.word, n: source!.n }));
  const read = rows.map(({ _id, word, n }) => ({ id: _id, word: [word].flat()[0], n: [n].flat()[0] }));
  assert.deepEqual(read, stored, "the dataset holds what the documents say");
  assert.ok(!server.logs.some((line) => line.includes("background work failed")), server.logs.join("\n"));
}
