import assert from "node:assert/strict";
import { parseFilterField, parseOps, parsePatch } from "../../../src/edge/rest/documents/json.ts";
import { formatCursor, parseCursor } from "../../../src/engine/collection/cursor.ts";
import type { WriteReply } from "../../../src/engine/collection/document-writer.ts";
import type {
  DocumentRef,
  FilterWrite,
  FilterWriteReply,
  ReadOptions,
} from "../../../src/engine/collection/documents.ts";
import { EngineError } from "../../../src/engine/errors.ts";
import { parseFields, parseSchema } from "../../../src/engine/schema/schema-parse.ts";
import { fingerprint } from "../../../src/engine/stream/idempotency.ts";
import type { ConsistencyToken } from "../../../src/engine/token.ts";
import type { EngineHarness } from "./harness.ts";
import {
  CollectionModel,
  fits,
  type ModelDocument,
  type ModelField,
  type ModelFilter,
  type ModelOp,
  Refused,
} from "./model.ts";
import { candidates, type ModelSchema, type Step } from "./steps.ts";

const strong: ReadOptions = { token: [], eventual: false };
const eventual: ReadOptions = { token: [], eventual: true };
const ref: DocumentRef = { namespace: "n", collection: "c" };
const ids = Array.from({ length: 61 }, (_, id) => id);

/** A scroll under way: what it must still return, whatever is written meanwhile. */
interface OpenScroll {
  readonly filter: ModelFilter | undefined;
  readonly token: ConsistencyToken;
  cursor: string;
  left: [number, ModelDocument][];
}

/** Runs steps against engine and model, and compares everything after each. */
export class Driver {
  readonly #harness: EngineHarness;
  readonly #schema: ModelSchema;
  #model: CollectionModel;
  /** Fields that stored documents may not be indexed by yet. */
  readonly #unfilled = new Set<string>();
  #rebuilt = false;
  #scroll: OpenScroll | undefined;
  /** Replies by idempotency key, with the operations they were for. */
  readonly #recorded = new Map<number, { ops: string; reply: WriteReply }>();
  #token: ConsistencyToken = [];

  constructor(harness: EngineHarness, schema: ModelSchema) {
    this.#harness = harness;
    this.#schema = schema;
    this.#model = new CollectionModel(schema.fields, schema.dynamic);
  }

  get #documents() {
    return this.#harness.engine.documents;
  }

  async create(): Promise<void> {
    await this.#harness.engine.collections.create("n", "c", parseSchema(schemaJson(this.#schema)));
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "write":
        return this.#write(step.ops, step.key);
      case "seal":
        return this.#seal();
      case "stir":
        this.#harness.clock.advance(5_000);
        for (let turn = 0; turn < step.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        return;
      case "restart":
        // Pins go with the process, and the clock of the pins with it.
        this.#scroll = undefined;
        return this.#harness.restart();
      case "drop":
        return this.#drop();
      case "scroll":
        return this.#startScroll(step.filter);
      case "page":
        return this.#continueScroll();
      case "add":
        return this.#add(step);
      case "deleteBy":
      case "patchBy":
        return this.#writeBy(step);
    }
  }

  async #seal(): Promise<void> {
    await this.#harness.sealed("c");
    this.#unfilled.clear();
  }

  async #write(given: readonly ModelOp[], key: number | undefined): Promise<void> {
    const ops = this.#likely(given);
    const text = JSON.stringify(ops);
    const known = key === undefined ? undefined : this.#recorded.get(key);
    const meta = this.#documents.find(ref);
    const parsed = () =>
      parseOps(
        ops.map(({ kind, ...body }) => ({ [kind]: plain(body) })),
        meta.schema,
      );
    const idempotency = key === undefined ? undefined : { key: `k${key}`, fingerprint: fingerprint(text) };
    const write = async () => this.#documents.write(ref, await parsed(), text.length, idempotency);
    if (known !== undefined) {
      if (known.ops !== text) return rejects(write, "aborted");
      const again = await write();
      assert.equal(again.replayed, true);
      assert.deepEqual([again.results, again.token], [known.reply.results, known.reply.token]);
      return;
    }
    const wanted = attempt(() => this.#model.write(ops));
    if (wanted instanceof Refused) return rejects(write, wanted.reason);
    const reply = await write();
    assert.deepEqual(reply.results, wanted);
    assert.equal(reply.replayed, false);
    this.#token = reply.token;
    if (key !== undefined) this.#recorded.set(key, { ops: text, reply });
  }

  /** Operations that mostly succeed: a batch that is refused shows little. */
  #likely(given: readonly ModelOp[]): ModelOp[] {
    const there = new Set(this.#model.documents.keys());
    return given.map((op) => {
      const stubborn = op.id % 7 === 3;
      const kind = op.kind === "patch" && !there.has(op.id) && !stubborn ? "upsert" : op.kind;
      if (kind === "delete") there.delete(op.id);
      else there.add(op.id);
      const known = Object.entries(op.source ?? {}).filter(([name, value]) => {
        const inSchema = this.#model.fields.some(({ path }) => path.split(".")[0] === name && name !== "meta");
        return stubborn || ((this.#model.dynamic !== "strict" || inSchema) && (kind === "patch" || value !== null));
      });
      return {
        ...op,
        kind,
        source: op.source === undefined ? undefined : Object.fromEntries(known),
        if: op.if === undefined ? undefined : this.#usable(op.if),
      };
    });
  }

  async #drop(): Promise<void> {
    const { collections } = this.#harness.engine;
    const { id } = this.#documents.find(ref);
    await collections.drop("n", "c");
    await rejects(() => this.#documents.get(ref, [1], strong), "not_found");
    this.#model = new CollectionModel(this.#schema.fields, this.#schema.dynamic);
    this.#unfilled.clear();
    this.#recorded.clear();
    this.#rebuilt = false;
    this.#scroll = undefined;
    this.#token = [];
    await this.create();
    assert.notEqual(this.#documents.find(ref).id, id);
  }

  async #add({ field, stale, wait }: Extract<Step, { kind: "add" }>): Promise<void> {
    const { collections } = this.#harness.engine;
    const { path, kind } = candidates[field]!;
    const version = this.#documents.find(ref).schemaVersion;
    const added: ModelField = { name: path, path, kind, indexed: true, fast: true };
    const add = (expected: number) =>
      collections.addFields("n", "c", parseFields("fields", [fieldJson(added)]), expected);
    if (stale) return rejects(() => add(version + 1), "aborted");
    if (this.#model.fields.some(({ name }) => name === path)) return rejects(() => add(version), "invalid_argument");
    const meta = await add(version);
    assert.equal(meta.schemaVersion, version + 1);
    this.#model.fields.push(added);
    this.#unfilled.add(path);
    this.#rebuilt = true;
    if (wait) await this.#seal();
  }

  async #startScroll(given: ModelFilter | undefined): Promise<void> {
    const filter = given === undefined ? undefined : this.#usable(given);
    const first = await this.#page(filter, undefined);
    const all = this.#model
      .matching(filter)
      .map((id) => [id, this.#model.documents.get(id)!] as [number, ModelDocument]);
    assert.deepEqual(shown(first.documents), all.slice(0, 2));
    assert.equal(first.nextCursor === undefined, all.length <= 2);
    const cursor = formatCursor(first.nextCursor);
    this.#scroll = cursor === null ? undefined : { filter, token: first.token, cursor, left: all.slice(2) };
  }

  async #continueScroll(): Promise<void> {
    const scroll = this.#scroll;
    if (scroll === undefined) return;
    const page = await this.#page(scroll.filter, scroll.cursor);
    assert.deepEqual(page.token, scroll.token, "a scroll stays with its moment");
    assert.deepEqual(shown(page.documents), scroll.left.slice(0, 2));
    scroll.left = scroll.left.slice(2);
    const cursor = formatCursor(page.nextCursor);
    assert.equal(cursor === null, scroll.left.length === 0);
    if (cursor === null) this.#scroll = undefined;
    else scroll.cursor = cursor;
  }

  async #page(filter: ModelFilter | undefined, cursor: string | undefined, options = strong) {
    const parsed = parseFilterField("filter", filter, this.#documents.find(ref).schema);
    return this.#documents.scroll(ref, { filter: parsed, limit: 2, cursor: parseCursor("cursor", cursor) }, options);
  }

  async #writeBy(step: Extract<Step, { kind: "deleteBy" | "patchBy" }>): Promise<void> {
    const filter = this.#usable(step.filter);
    const matched = this.#model.matching(filter);
    const ops = matched.map((id): ModelOp => {
      return step.kind === "deleteBy" ? { kind: "delete", id } : { kind: "patch", id, source: step.source };
    });
    const wanted = attempt(() => {
      // A patch that fits no document is refused though there is none.
      if (step.kind === "patchBy") this.#model.check([{ kind: "patch", id: 0, source: step.source }]);
      return ops.length === 0 ? [] : this.#model.write(ops);
    });
    let cursor: string | null = null;
    let seen = 0;
    let affected = 0;
    do {
      const request: FilterWrite = {
        filter: parseFilterField("filter", filter, this.#documents.find(ref).schema)!,
        maxDocuments: step.max,
        cursor: parseCursor("cursor", cursor),
      };
      const write = (): Promise<FilterWriteReply> =>
        step.kind === "deleteBy"
          ? this.#documents.deleteByFilter(ref, request, strong)
          : this.#documents.patchByFilter(ref, request, parsePatch("patch", { source: step.source }), strong);
      // All documents get the same patch, so that the first of them shows whether it fits.
      if (wanted instanceof Refused) return rejects(write, wanted.reason);
      const reply: FilterWriteReply = await write();
      seen += reply.matched;
      affected += reply.affected;
      this.#token = reply.token;
      cursor = formatCursor(reply.nextCursor);
      assert.equal(reply.partial, cursor !== null);
      assert.equal(cursor !== null, seen < matched.length);
    } while (cursor !== null);
    assert.deepEqual([seen, affected], [matched.length, matched.length]);
    // The model wrote one batch, the engine several: the states in between are told from the totals.
    this.#model.history.clear();
    this.#model.history.set(this.#model.changes, this.#model.documents);
  }

  /** Everything that can be read says what the model says. */
  async check(given: readonly ModelFilter[]): Promise<void> {
    const model = this.#model;
    const found = await this.#documents.get(ref, ids, strong);
    assert.deepEqual(
      found.documents.map((document) => (document === undefined ? undefined : shown([document])[0]![1])),
      ids.map((id) => model.documents.get(id)),
    );
    assert.equal((await this.#documents.count(ref, undefined, strong)).count, model.documents.size);
    await this.#checkEventual({ match_all: {} });
    for (const each of given) {
      const filter = this.#usable(each);
      const wanted = model.matching(filter);
      const parsed = parseFilterField("filter", filter, this.#documents.find(ref).schema);
      const { count, token } = await this.#documents.count(ref, parsed, { token: this.#token, eventual: false });
      assert.equal(count, wanted.length, JSON.stringify(filter));
      assert.ok((token[0]?.offset ?? -1) >= (this.#token[0]?.offset ?? -1));
      assert.deepEqual(await this.#scrollAll(filter, strong), wanted, JSON.stringify(filter));
      await this.#checkEventual(filter);
    }
  }

  /** An eventual read sees the documents as of the last manifest, unless that was made again from newer ones. */
  async #checkEventual(filter: ModelFilter): Promise<void> {
    const { manifest } = this.#harness.engine.collections.get("n", "c");
    const then = this.#model.history.get(manifest.totals.changes);
    if (then === undefined || this.#rebuilt) return;
    const parsed = parseFilterField("filter", filter, this.#documents.find(ref).schema);
    const wanted = this.#model.matching(filter, then);
    const current = this.#harness.engine.collections.get("n", "c").manifest;
    const { count } = await this.#documents.count(ref, parsed, eventual);
    const after = this.#harness.engine.collections.get("n", "c").manifest;
    if (current !== manifest || after !== manifest) return;
    assert.equal(count, wanted.length, `eventual ${JSON.stringify(filter)}`);
  }

  async #scrollAll(filter: ModelFilter, options: ReadOptions): Promise<number[]> {
    const found: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#page(filter, cursor, options);
      found.push(...page.documents.map(({ id }) => id));
      cursor = formatCursor(page.nextCursor) ?? undefined;
    } while (cursor !== undefined);
    return found;
  }

  /** The filter without leaves that the schema of the moment does not take. */
  #usable(filter: ModelFilter): ModelFilter {
    const [kind, body] = Object.entries(filter)[0] as [string, unknown];
    if (Array.isArray(body)) return { [kind]: body.map((each) => this.#usable(each)) };
    if (kind === "not") return { not: this.#usable(body as ModelFilter) };
    if (kind === "bool") {
      const parts = Object.entries(body as Record<string, ModelFilter[]>);
      return { bool: Object.fromEntries(parts.map(([name, list]) => [name, list.map((each) => this.#usable(each))])) };
    }
    if (kind === "match_all" || kind === "ids") return filter;
    return this.#takes(kind, body as Record<string, unknown>) ? filter : { match_all: {} };
  }

  #takes(kind: string, body: Readonly<Record<string, unknown>>): boolean {
    const [key, value] = Object.entries(body)[0]!;
    const name = kind === "exists" ? String(value) : key;
    const field = this.#model.fields.find((each) => each.name === name);
    if (field === undefined || this.#unfilled.has(name) || (!field.indexed && !field.fast)) return false;
    if (kind === "exists") return true;
    if (field.kind === "text" && (!field.indexed || kind === "range")) return false;
    const words = field.kind === "text" || field.kind === "keyword";
    if (!words && kind !== "term" && kind !== "range") return false;
    if (field.kind === "bool" && kind === "range") return false;
    const given = kind === "range" ? Object.values(value as object) : [value].flat();
    return given.every((each) => fits(field.kind, each));
  }
}

function plain(body: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function fieldJson({ name, path, kind, indexed, fast }: ModelField) {
  return { name, source_path: path, kind, indexed, fast };
}

function schemaJson({ fields, dynamic }: ModelSchema) {
  return { fields: fields.map(fieldJson), dynamic, vectors: [{ name: "v", dim: 2, distance: "cosine" }] };
}

function attempt<T>(run: () => T): T | Refused {
  try {
    return run();
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

async function rejects(run: () => Promise<unknown>, reason: string): Promise<void> {
  await assert.rejects(run, (error) => error instanceof EngineError && error.reason === reason);
}

function shown(
  documents: readonly {
    readonly id: number;
    readonly version: number;
    readonly source: string;
    readonly vectors: ReadonlyMap<string, Float32Array>;
  }[],
): [number, ModelDocument][] {
  return documents.map(({ id, version, source, vectors }) => {
    const read = Object.fromEntries([...vectors].map(([name, values]) => [name, [...values]]));
    return [id, { version, source: JSON.parse(source), vectors: read }];
  });
}
