import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { LinkDetail } from "../../src/engine/link/links.ts";
import { parseQuery } from "../../src/engine/retrieval/parse.ts";
import type { ConsistencyToken } from "../../src/engine/token.ts";
import { CollectionModel, type ModelDocument, type ModelField } from "../model/collection/model.ts";
import type { LogHistory, SentRecord } from "./log-history.ts";
import { demand, Violation } from "./outcome.ts";
import type { Session } from "./session.ts";

const namespace = "n";
const triesMax = 50;

interface Fields {
  readonly version: number;
  readonly skipped: number;
  readonly lost?: number;
  readonly counters?: Readonly<Record<string, number>>;
}

type Filled = readonly (readonly [number, ModelDocument])[];

interface SeenLink {
  readonly applied: readonly number[];
  readonly fields: Fields;
}

/** What a link must have made of its source, record by record. */
export interface LinkRule {
  readonly name: string;
  readonly kind: "counter" | "collection";
  readonly options: unknown;
  readonly source: LogHistory;
  /** Its target may be dropped and made anew, so that the link starts over; this makes it. */
  readonly remake?: () => Promise<void>;
}

export const filledFields: readonly ModelField[] = [
  { name: "n", path: "n", kind: "i64", indexed: true, fast: true },
  { name: "tag", path: "tag", kind: "keyword", indexed: true, fast: true },
];

/** What clients see of links, and whether it is what the log says. */
export class LinkClients {
  readonly #session: Session;
  readonly #links: readonly LinkRule[];
  readonly #seen = new Map<string, SeenLink[]>();
  readonly #reads: { readonly source: LogHistory; readonly least: readonly number[]; readonly found: Filled }[] = [];
  /** What someone was told that a link had applied: it never falls. */
  readonly #applied = new Map<string, number[]>();

  constructor(session: Session, links: readonly LinkRule[]) {
    this.#session = session;
    this.#links = links;
  }

  async create(): Promise<void> {
    const { engine } = this.#session.world;
    for (const { name, kind, options, source } of this.#links) {
      await engine.links.create({ namespace, name, source: source.name, target: { kind, name }, options });
    }
  }

  async detail(): Promise<void> {
    const { dice } = this.#session;
    await this.#look(dice.pick(this.#links), this.#session.someToken());
  }

  /** Reads what a link fills, with a token of the link's source: the read reflects it. */
  async readFilled(): Promise<void> {
    const link = this.#links.find(({ kind, remake }) => kind === "collection" && remake === undefined)!;
    const { source, name } = link;
    const token = source.partitions.flatMap((_, partition) => source.tokenOf(partition));
    const least = source.partitions.map((_, partition) => this.#applied.get(name)?.[partition] ?? 0);
    for (const { stream, partition, offset } of token) {
      if (stream === source.id) least[partition] = Math.max(least[partition]!, offset + 1);
    }
    const found = await this.#scroll(name, token);
    if (found !== undefined) this.#reads.push({ source, least, found });
  }

  async #scroll(name: string, token: ConsistencyToken): Promise<Filled | undefined> {
    const { world } = this.#session;
    const page = { filter: undefined, limit: 1_000, cursor: undefined };
    const read = () => world.engine.documents.scroll({ namespace, collection: name }, page, { token, eventual: false });
    const at = token.length === 0 ? undefined : token;
    const outcome = await this.#session.ask(`filled ${name} ${JSON.stringify(token)}`, [], read, at);
    if (outcome.kind !== "answer") return undefined;
    return outcome.value.documents.map(({ id, version, source }) => {
      return [id, { version, source: JSON.parse(source), vectors: {} }] as const;
    });
  }

  /** In each partition the documents are those after some record from the first that the read had to reflect. */
  #checkReads(): void {
    for (const { source, least, found } of this.#reads.splice(0)) {
      for (const [partition, { next }] of source.partitions.entries()) {
        const ours = found.filter(([id]) => source.partitionOf(String(id)) === partition);
        let at = least[partition]!;
        while (at <= next && !isDeepStrictEqual(ours, sorted(filledFrom(source, partition, at)))) at++;
        demand(at <= next, () => `${JSON.stringify(ours)} is no state of ${source.name}/${partition} from ${least}`);
      }
    }
  }

  async #look(link: LinkRule, token: ConsistencyToken): Promise<LinkDetail | undefined> {
    const { world } = this.#session;
    const { source, name } = link;
    const known = [...(this.#applied.get(name) ?? [])];
    const ends = source.partitions.map(({ next }) => next);
    const outcome = await this.#session.ask(`link ${name} ${JSON.stringify(token)}`, [], () =>
      world.engine.links.detail(namespace, name, { token, consistency: "strong" }),
    );
    if (outcome.kind !== "answer") return undefined;
    const detail = outcome.value;
    const applied = detail.applied!.map(({ offset }) => offset);
    for (const [partition, offset] of applied.entries()) {
      const isBack = offset < (known[partition] ?? 0) && link.remake === undefined;
      demand(!isBack, () => `${name} went back to ${offset} in ${partition}`);
      const end = offset + detail.lag[partition]!.records;
      demand(end >= ends[partition]!, () => `${name} knows ${end} records of ${partition}, not ${ends[partition]}`);
    }
    for (const { stream, partition, offset } of token) {
      if (stream !== source.id) continue;
      demand(applied[partition]! > offset, () => `${name} was read without the token's ${partition}@${offset}`);
    }
    this.#applied.set(
      name,
      applied.map((offset, i) => Math.max(offset, this.#applied.get(name)?.[i] ?? 0)),
    );
    const fields = JSON.parse(`{${detail.fields.join(",")}}`) as Fields;
    const seen = this.#seen.get(name) ?? [];
    seen.push({ applied, fields });
    this.#seen.set(name, seen);
    return detail;
  }

  /** Once all of the log is known: every look at a link was exactly what the records up to its offsets make. */
  settle(): void {
    this.#checkReads();
    for (const link of this.#links) {
      const seen = this.#seen.get(link.name) ?? [];
      for (const { applied, fields } of seen) {
        const wanted =
          link.kind === "counter" ? counted(link.source, applied) : { skipped: misfits(link.source, applied) };
        const { version: _, lost: __, errors: ___, ...given } = fields as Fields & { errors?: unknown };
        assert.deepEqual(given, wanted, `${link.name} at ${applied}`);
      }
      this.#seen.set(link.name, []);
    }
  }

  /** Until every link has applied all there is; then its target is what the log says. */
  async catchUp(): Promise<void> {
    const { world } = this.#session;
    for (const link of this.#links) {
      const deadlineMs = world.time.steadyMs + 300_000;
      for (;;) {
        await link.remake?.();
        const detail = await this.#look(link, []);
        if (detail?.lag.every(({ records }) => records === 0)) break;
        if (world.time.steadyMs > deadlineMs) throw new Violation(`${link.name} does not catch up: ${detail?.error}`);
        // An answer may come without any time passing.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    this.settle();
    for (const link of this.#links) if (link.kind === "collection") await this.#checkFilled(link);
  }

  async #checkFilled({ name, source }: LinkRule): Promise<void> {
    let found = await this.#scroll(name, []);
    for (let tries = 1; found === undefined; tries++) {
      if (tries > triesMax) throw new Violation("the filled collection could not be read");
      await this.#session.pause();
      found = await this.#scroll(name, []);
    }
    const wanted = sorted(
      new Map(source.partitions.flatMap(({ next }, partition) => [...filledFrom(source, partition, next)])),
    );
    assert.deepEqual(found, wanted, `${name} is not what its source says`);
    await this.#checkIndex(name, wanted);
  }

  /** The index behind the collection says the same. */
  async #checkIndex(name: string, wanted: Filled): Promise<void> {
    const outcome = await this.#session.insist(`filled ${name} by its index`, () => {
      const { queries } = this.#session.world.engine;
      const body = { from: name, limit: 1_000, select: ["n", "tag"], filter: { match_all: {} } };
      return queries.run(
        namespace,
        parseQuery(body, (each) => queries.schemaOf(namespace, each)),
        [],
      );
    });
    const rows = outcome.rows!.map(({ _id, n, tag }) => [_id, n, tag]);
    const said = wanted.map(([id, { source }]) => [id, source["n"], source["tag"]]);
    assert.deepEqual(rows, said, `${name} is not what its source says, by its index`);
  }
}

function counted(source: LogHistory, applied: readonly number[]): Omit<Fields, "version"> {
  const counters: Record<string, number> = {};
  let skipped = 0;
  for (const [partition, offset] of applied.entries()) {
    for (const { key, value } of source.below(partition, offset)) {
      if (key === undefined || value === undefined) skipped++;
      else counters[key] = (counters[key] ?? 0) + (JSON.parse(value) as { n: number }).n;
    }
  }
  return { counters, skipped };
}

function isMisfit({ value }: SentRecord): boolean {
  return value !== undefined && typeof (JSON.parse(value) as { n: unknown }).n !== "number";
}

function misfits(source: LogHistory, applied: readonly number[]): number {
  let skipped = 0;
  for (const [partition, offset] of applied.entries()) {
    for (const record of source.below(partition, offset)) if (isMisfit(record)) skipped++;
  }
  return skipped;
}

/** A document's records are all in one partition, so that their order there is their order. */
function filledFrom(source: LogHistory, partition: number, offset: number): ReadonlyMap<number, ModelDocument> {
  const model = new CollectionModel(filledFields, "ignore");
  for (const record of source.below(partition, offset)) {
    if (isMisfit(record)) continue;
    const { key, value } = record;
    if (value === undefined) model.write([{ kind: "delete", id: Number(key) }]);
    else model.write([{ kind: "upsert", id: Number(key), source: JSON.parse(value) }]);
  }
  return model.documents;
}

function sorted(documents: ReadonlyMap<number, ModelDocument>): Filled {
  return [...documents].sort(([a], [b]) => a - b);
}
