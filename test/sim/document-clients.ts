import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { parseFilterField } from "../../src/edge/rest/documents/json.ts";
import { formatCursor, parseCursor } from "../../src/engine/collection/cursor.ts";
import type { VersionedDocument } from "../../src/engine/collection/document-codec.ts";
import type { WriteReply } from "../../src/engine/collection/document-writer.ts";
import type { WriteOp } from "../../src/engine/collection/ops.ts";
import { parseQuery } from "../../src/engine/retrieval/parse.ts";
import type { Schema } from "../../src/engine/schema/schema.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import { fingerprint } from "../../src/engine/stream/idempotency.ts";
import { type ConsistencyToken, mergeTokens, tokenAt } from "../../src/engine/token.ts";
import {
  type ModelDocument,
  type ModelField,
  type ModelFilter,
  type ModelOp,
  matches,
} from "../model/collection/model.ts";
import type { Moment } from "./clock.ts";
import { CollectionHistory, type Documents, type DocumentWrite, isChange } from "./collection-history.ts";
import { demand, Violation } from "./outcome.ts";
import type { Session } from "./session.ts";

const ref = { namespace: "n", collection: "direct" };
const idCount = 14;
const words = ["ant", "bee", "cat", "elk"];
const idempotencyWindowMs = 18 * 3_600_000;

const fields: readonly ModelField[] = [
  { name: "tag", path: "tag", kind: "keyword", indexed: true, fast: true },
  { name: "n", path: "n", kind: "i64", indexed: true, fast: true },
  { name: "body", path: "body", kind: "text", indexed: true, fast: false },
];

interface KeyedWrite {
  readonly write: DocumentWrite;
  readonly key: string;
  readonly sentAt: Moment;
  reply: Pick<WriteReply, "results" | "token"> | undefined;
}

/** What clients do with the documents of one collection. */
export class DocumentClients {
  readonly history = new CollectionHistory(fields);
  readonly #session: Session;
  readonly #keyed: KeyedWrite[] = [];

  constructor(session: Session) {
    this.#session = session;
  }

  get #documents() {
    return this.#session.world.engine.documents;
  }

  async create(): Promise<void> {
    const { collections } = this.#session.world.engine;
    const schema = parseSchema({
      fields: fields.map(({ path, ...field }) => ({ ...field, source_path: path })),
      vectors: [{ name: "v", dim: 2, distance: "cosine" }],
    });
    const { meta } = await collections.create(ref.namespace, ref.collection, schema);
    this.history.streamId = meta.streamId;
  }

  async write(): Promise<void> {
    const { dice, world } = this.#session;
    const count = dice.chance(0.6) ? 1 : dice.between(2, 5);
    const write = this.history.begin(
      this.#session.takeId(),
      Array.from({ length: count }, () => this.#makeOp()),
    );
    if (dice.chance(0.7)) return this.#send(write, undefined);
    const keyed = { write, key: `k${write.id}`, sentAt: world.time.moment, reply: undefined };
    this.#keyed.push(keyed);
    await this.#send(write, keyed);
  }

  /** Sends a keyed request again: what was done is not done twice. */
  async resend(): Promise<void> {
    const { dice, world } = this.#session;
    const usable = this.#keyed.filter(({ sentAt, write: { state } }) => {
      const isFresh = world.time.latestMs(sentAt) - sentAt.wallMs < idempotencyWindowMs;
      return isFresh && state !== "pending" && state !== "unknown";
    });
    if (usable.length === 0) return;
    const keyed = dice.pick(usable);
    if (keyed.write.state === "done") return this.#send(keyed.write, keyed);
    const write = this.history.begin(keyed.write.id, keyed.write.ops);
    const again = { ...keyed, write };
    this.#keyed.splice(this.#keyed.indexOf(keyed), 1, again);
    await this.#send(write, again);
  }

  async #send(write: DocumentWrite, keyed: KeyedWrite | undefined): Promise<void> {
    const wasDone = write.state === "done";
    const idempotency = keyed && { key: keyed.key, fingerprint: fingerprint(JSON.stringify(write.ops)) };
    const what = `write #${write.id} ${keyed?.key ?? ""} ${JSON.stringify(write.ops)}`;
    const outcome = await this.#session.ask(what, ["already_exists", "not_found"], async () => {
      const { schema } = this.#documents.find(ref);
      const ops = write.ops.map((op) => engineOp(op, schema));
      const { backlog: _, ...reply } = await this.#documents.write(ref, ops, 100, idempotency);
      return reply;
    });
    if (outcome.kind === "crash") {
      if (!wasDone) write.state = "unknown";
      return;
    }
    if (outcome.kind === "error") {
      const { reason } = outcome.error as { reason: string };
      if (!wasDone) this.history.refuse(write, reason);
      else demand(reason === "unavailable", () => `#${write.id} was done and is refused as ${reason}`);
      return;
    }
    const { replayed, ...reply } = outcome.value;
    demand(replayed || !wasDone, () => `#${write.id} was done again`);
    if (keyed !== undefined) {
      keyed.reply ??= reply;
      assert.deepEqual(reply, keyed.reply, "a replay is the recorded reply");
    }
    this.#session.share(reply.token);
    const offset = this.#offsetOf(reply.token);
    if (!replayed) return this.history.acknowledge(write, reply.results, offset);
    // One that was cut off and changed nothing has left no trace but its reply.
    demand(wasDone || !reply.results.some(isChange), () => `#${write.id} is replayed, but it was ${write.state}`);
    write.state = "done";
  }

  /** Deletes or patches what a filter matches. */
  async writeByFilter(): Promise<void> {
    const { dice } = this.#session;
    const { history } = this;
    const filter = this.#makeFilter();
    const source = { n: dice.below(5) };
    const isDelete = dice.chance(0.4);
    const write = history.begin(this.#session.takeId(), [], {
      least: history.known,
      matching: (state) => matching(state, filter),
      opOf: (id) => (isDelete ? { kind: "delete", id } : { kind: "patch", id, source }),
      told: undefined,
    });
    const what = `filtered #${write.id} ${isDelete ? "delete" : JSON.stringify(source)} ${JSON.stringify(filter)}`;
    const outcome = await this.#session.ask(what, [], async () => {
      const parsed = parseFilterField("filter", filter, this.#documents.find(ref).schema)!;
      const request = { filter: parsed, maxDocuments: 1_000, cursor: undefined };
      const options = { token: [], eventual: false };
      const patch = { source, vectors: undefined, sparseVectors: undefined };
      const { backlog: _, ...reply } = isDelete
        ? await this.#documents.deleteByFilter(ref, request, options)
        : await this.#documents.patchByFilter(ref, request, patch, options);
      return reply;
    });
    if (outcome.kind === "crash") write.state = "unknown";
    else if (outcome.kind === "error") write.state = "refused";
    else {
      const { matched, affected, token } = outcome.value;
      history.acknowledgeFiltered(write, matched, affected, this.#offsetOf(token));
    }
  }

  #makeOp(): ModelOp {
    const { dice } = this.#session;
    const id = dice.below(idCount);
    const condition = dice.chance(0.15) ? { if: this.#makeFilter() } : {};
    const version = dice.chance(0.15) ? { if_version: dice.below(4) } : {};
    const kind = dice.pick(["upsert", "upsert", "upsert", "insert", "patch", "delete", "delete"] as const);
    if (kind === "delete") return { kind, id, ...condition, ...version };
    const source = {
      ...(dice.chance(0.7) ? { tag: dice.pick(words) } : {}),
      ...(dice.chance(0.7) ? { n: dice.below(5) } : {}),
      ...(dice.chance(0.7) ? { body: this.#makeText() } : {}),
    };
    const vectors = dice.chance(0.5) ? { vectors: { v: [dice.between(-2, 2), dice.between(-2, 2) / 2] } } : {};
    return { kind, id, source, ...vectors, ...condition, ...version };
  }

  #makeText(): string {
    const { dice } = this.#session;
    return Array.from({ length: dice.between(1, 3) }, () => dice.pick(words)).join(" ");
  }

  #makeFilter(): ModelFilter {
    const { dice } = this.#session;
    return dice.pick<() => ModelFilter>([
      () => ({ term: { tag: dice.pick(words) } }),
      () => ({ range: { n: { gte: dice.below(5) } } }),
      () => ({ match: { body: dice.pick(words) } }),
      () => ({ not: { term: { n: dice.below(5) } } }),
      () => ({ match_all: {} }),
    ])();
  }

  async get(): Promise<void> {
    const { dice } = this.#session;
    const ids = Array.from({ length: dice.between(1, 6) }, () => dice.below(idCount));
    await this.#read(`get ${ids}`, "ids", async (options) => {
      const { documents, token } = await this.#documents.get(ref, ids, { ...options, eventual: false });
      const found = documents.map((document) => document && shown(document));
      return {
        found,
        token,
        holds: (state) =>
          isDeepStrictEqual(
            found,
            ids.map((id) => state.get(id)),
          ),
      };
    });
  }

  async count(): Promise<void> {
    const { dice } = this.#session;
    const eventual = dice.chance(0.4);
    const filter = dice.chance(0.7) ? this.#makeFilter() : undefined;
    await this.#read(`count ${eventual} ${JSON.stringify(filter)}`, eventual ? "eventual" : "ids", async (options) => {
      const parsed = parseFilterField("filter", filter, this.#documents.find(ref).schema);
      const { count, token } = await this.#documents.count(ref, parsed, { ...options, eventual });
      return { found: count, token, holds: (state) => matching(state, filter).length === count };
    });
  }

  /** Every page of a scroll is of the same moment, whatever is written between them. */
  async scroll(): Promise<void> {
    const { dice } = this.#session;
    const filter = dice.chance(0.5) ? this.#makeFilter() : undefined;
    const limit = dice.between(2, 20);
    await this.#read(`scroll ${limit} ${JSON.stringify(filter)}`, "ids", async (options) => {
      const documents = this.#documents;
      const parsed = parseFilterField("filter", filter, documents.find(ref).schema);
      const found: [number, ModelDocument][] = [];
      let cursor: string | null | undefined;
      let token: ConsistencyToken | undefined;
      do {
        const page = { filter: parsed, limit, cursor: parseCursor("cursor", cursor) };
        const reply = await documents.scroll(ref, page, { ...options, eventual: false });
        found.push(...reply.documents.map((document) => [document.id, shown(document)] as [number, ModelDocument]));
        // Another moment tells that the scroll was given up and began anew: then its pages need not agree.
        if (token !== undefined && !isDeepStrictEqual(token, reply.token)) return { found, token, holds: () => true };
        token = reply.token;
        cursor = formatCursor(reply.nextCursor);
      } while (cursor !== null);
      const holds = (state: Documents) =>
        isDeepStrictEqual(
          found,
          matching(state, filter).map((id) => [id, state.get(id)]),
        );
      return { found, token: token!, holds };
    });
  }

  /** Rows are of exactly the moment that the reply's token names. */
  async query(): Promise<void> {
    const { dice, world } = this.#session;
    const filter = dice.chance(0.5) ? this.#makeFilter() : undefined;
    const text = dice.chance(0.5) ? this.#makeText() : undefined;
    const vector = dice.chance(0.4) ? [1, dice.between(-2, 2)] : undefined;
    const eventual = dice.chance(0.2);
    const retrieve = [
      ...(text === undefined ? [] : [{ text: { field: "body", query: text, k: 100 } }]),
      ...(vector === undefined ? [] : [{ vector: { field: "v", query: vector, k: 100 } }]),
    ];
    const body = {
      from: ref.collection,
      limit: 100,
      ...(filter === undefined ? {} : { filter }),
      ...(retrieve.length === 0 ? {} : { retrieve }),
      ...(eventual ? { consistency: "eventual" } : {}),
    };
    const holdsIn = (document: ModelDocument) =>
      retrieve.length === 0 ||
      (text?.split(" ").some((word) =>
        String(document.source["body"] ?? "")
          .split(" ")
          .includes(word),
      ) ??
        false) ||
      (vector !== undefined && document.vectors["v"] !== undefined);
    await this.#read(`query ${JSON.stringify(body)}`, eventual ? "unchecked" : "exact", async ({ token: given }) => {
      const { queries } = world.engine;
      const plan = parseQuery(body, (name) => queries.schemaOf(ref.namespace, name));
      const { rows, token } = await queries.run(ref.namespace, plan, given);
      const found = rows!.map(({ _id, _score, ...row }) => [_id, row] as const).sort(([a], [b]) => a - b);
      const holds = (state: Documents) => {
        const wanted = matching(state, filter).filter((id) => holdsIn(state.get(id)!));
        return isDeepStrictEqual(
          found,
          wanted.map((id) => [id, state.get(id)!.source]),
        );
      };
      return { found, token, holds };
    });
  }

  async #read(
    what: string,
    kind: "ids" | "exact" | "eventual" | "unchecked",
    run: (options: { token: ConsistencyToken }) => Promise<{
      found: unknown;
      token: ConsistencyToken;
      holds: (state: Documents) => boolean;
    }>,
  ): Promise<void> {
    const { history } = this;
    const begunAt = history.moment;
    const token = this.#session.someToken();
    const isStrong = kind === "ids" || kind === "exact";
    const least = Math.max(isStrong ? history.known : -1, this.#offsetOf(token));
    const known = tokenAt(history.streamId, history.known + 1);
    const outcome = await this.#session.ask(
      `${what} ${JSON.stringify(token)}`,
      [],
      () => run({ token }),
      mergeTokens(token, known),
    );
    if (outcome.kind !== "answer") return;
    const { found, token: given, holds } = outcome.value;
    const seen = this.#offsetOf(given);
    demand(seen >= least, () => `${what} tells of ${seen}, but ${least} was known`);
    const isOrdered = isStrong && !outcome.isFollowers;
    if (isOrdered) history.see(seen);
    if (kind === "unchecked") return;
    const text = `${what} (${least}, ${seen}) found ${JSON.stringify(found)}`;
    history.claim(begunAt, text, isStrong ? seen : least, kind === "exact" ? seen : undefined, isOrdered, holds);
  }

  #offsetOf(token: ConsistencyToken): number {
    return Math.max(-1, ...token.filter(({ stream }) => stream === this.history.streamId).map(({ offset }) => offset));
  }

  /** Reads all documents from the store, which faults do not reach, and settles everything since the last time. */
  async audit(): Promise<void> {
    const ids = Array.from({ length: idCount }, (_, id) => id);
    const { documents, token } = await this.#session.insist("audit direct", () =>
      this.#documents.get(ref, ids, { token: [], eventual: false }),
    );
    const found = new Map(documents.flatMap((each) => (each === undefined ? [] : [[each.id, shown(each)] as const])));
    this.history.settle(found, this.#offsetOf(token));
  }

  /** With nothing under way, the index says what the documents say. */
  async catchUp(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const before = this.#session.counts.get("query ok") ?? 0;
      await this.query();
      if ((this.#session.counts.get("query ok") ?? 0) > before && tries >= 3) return;
      if (tries > 50) throw new Violation("queries are not answered any more");
    }
  }
}

/** The edge parses in turns of real time, which a simulation can't have. */
function engineOp(
  { kind, id, if: condition, if_version: ifVersion, source, vectors }: ModelOp,
  schema: Schema,
): WriteOp {
  const conditions = { condition: parseFilterField("if", condition, schema), ifVersion };
  if (kind === "delete") return { kind, id, ...conditions };
  return { kind, id, source: source ?? {}, vectors, sparseVectors: undefined, ...conditions };
}

function matching(state: Documents, filter: ModelFilter | undefined): number[] {
  return [...state.keys()]
    .filter((id) => filter === undefined || matches(filter, id, state.get(id)!, fields))
    .sort((a, b) => a - b);
}

function shown({ version, source, vectors }: VersionedDocument): ModelDocument {
  const plain = [...vectors].map(([name, values]) => [name, Array.from(values)] as const);
  return { version, source: JSON.parse(source), vectors: Object.fromEntries(plain) };
}
