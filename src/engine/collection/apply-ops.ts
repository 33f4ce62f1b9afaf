import type { Draft } from "../commit/draft.ts";
import { alreadyExists, EngineError, invalid } from "../errors.ts";
import { parseExact } from "../exact-json.ts";
import { limits } from "../limits.ts";
import type { Schema } from "../schema/schema.ts";
import { matchesDocument } from "../search/filter/evaluate.ts";
import { type Filter, filterFields } from "../search/filter/filter.ts";
import type { Steps } from "../turns.ts";
import { documentKey } from "./collection-store.ts";
import {
  decodeDocument,
  encodeDocument,
  encodeStored,
  type OpenedDocument,
  openStored,
  type StoredDocument,
  storedVersion,
  versionBytes,
} from "./document-codec.ts";
import type { ContentOp, OpResult } from "./ops.ts";
import type { OpPath, PreparedOp } from "./prepare-ops.ts";
import { StoredExtractor } from "./stored-extract.ts";
import type { DocumentChange } from "./write-record.ts";

export interface AppliedOps {
  readonly results: readonly OpResult[];
  readonly changes: readonly DocumentChange[];
  /** How many documents there are more than before. */
  readonly documentsAdded: number;
}

export interface ApplyOptions {
  readonly pathOf: OpPath;
  /** A patch of a document that is gone is no failure: what a filter found may have been deleted since. */
  readonly skipMissing: boolean;
  /** The conditions are known to hold while the collection's log has no record from this offset on. */
  readonly settledAt?: number;
}

/** Applies a batch of operations to a collection's documents as part of a change: all of them or, by throwing, none. */
export class OpApplier {
  readonly #draft: Draft;
  readonly #collectionId: number;
  readonly #schema: Schema;
  readonly #options: ApplyOptions;
  readonly #changes = new Map<number, DocumentChange>();
  readonly #isSettled: boolean;
  /** Reads what the condition looks at; kept for the operations that share it. */
  #checker: { readonly condition: Filter; readonly extractor: StoredExtractor } | undefined;
  /** What the last condition looked at: a batch may ask one large document thousands of times. */
  #read: { readonly id: number; readonly stored: StoredDocument; readonly source: unknown } | undefined;
  #documentsAdded = 0;

  /** `next` is the offset that the operations get in the collection's log. */
  constructor(draft: Draft, collectionId: number, schema: Schema, next: number, options: ApplyOptions) {
    this.#isSettled = options.settledAt === next;
    this.#draft = draft;
    this.#collectionId = collectionId;
    this.#schema = schema;
    this.#options = options;
  }

  *apply(ops: readonly PreparedOp[]): Steps<AppliedOps> {
    const results: OpResult[] = [];
    for (const [i, prepared] of ops.entries()) {
      results.push(this.#applyOne(prepared, i));
      yield;
    }
    for (const { id, version, document } of this.#changes.values()) {
      const key = documentKey(this.#collectionId, id);
      if (document === undefined) this.#draft.delete(key);
      else this.#draft.put(key, encodeStored(key, version, document));
      yield;
    }
    return { results, changes: [...this.#changes.values()], documentsAdded: this.#documentsAdded };
  }

  #applyOne(prepared: PreparedOp, i: number): OpResult {
    const { op } = prepared;
    const { id } = op;
    const version = this.#version(id);
    if (!this.#holds(prepared, version)) return { id, status: "condition_failed", version };
    if (op.kind === "insert" && version > 0) {
      throw alreadyExists(`${this.#path(prepared, i)}: a document with the id ${id} already exists`, id);
    }
    if (op.kind === "patch") {
      if (version === 0) {
        if (this.#options.skipMissing) return { id, status: "condition_failed", version };
        const field = this.#path(prepared, i);
        throw new EngineError("not_found", `${field}: there is no document with the id ${id}`, { details: { field } });
      }
      if (isEmpty(op)) return { id, status: "noop", version };
    }
    if (op.kind === "delete") {
      if (version === 0) return { id, status: "noop", version };
      this.#documentsAdded--;
      this.#change({ id, version: version + 1, document: undefined });
      return { id, status: "deleted", version: version + 1 };
    }
    const document = prepared.document ?? this.#patched(op, prepared);
    if (prepared.document === undefined && document.length > limits.documentBytesMax) {
      const field = `${this.#path(prepared, i)}.source`;
      throw invalid(field, `would make the document larger than ${limits.documentBytesMax} bytes`);
    }
    if (version === 0) this.#documentsAdded++;
    this.#change({ id, version: version + 1, document });
    return { id, status: version === 0 ? "created" : "updated", version: version + 1 };
  }

  #change(change: DocumentChange): void {
    this.#changes.set(change.id, change);
    if (this.#read?.id === change.id) this.#read = undefined;
  }

  #path({ op }: PreparedOp, i: number): string {
    return this.#options.pathOf(i, op);
  }

  /** The version as the operations before this one leave it, 0 when there is no document. */
  #version(id: number): number {
    const changed = this.#changes.get(id);
    if (changed !== undefined) return changed.document === undefined ? 0 : changed.version;
    const head = this.#draft.head(documentKey(this.#collectionId, id), versionBytes);
    return head === undefined ? 0 : storedVersion(head);
  }

  /** The document as the operations before this one leave it; there must be one. */
  #current(id: number): OpenedDocument {
    const changed = this.#changes.get(id);
    if (changed !== undefined) return { version: changed.version, document: changed.document! };
    const key = documentKey(this.#collectionId, id);
    return openStored(key, this.#draft.get(key)!);
  }

  #holds({ op }: PreparedOp, version: number): boolean {
    if (op.ifVersion !== undefined && op.ifVersion !== version) return false;
    const { condition } = op;
    if (condition === undefined || this.#isSettled) return true;
    if (version === 0) return false;
    if (this.#checker?.condition !== condition) {
      this.#checker = { condition, extractor: new StoredExtractor(onlyWhat(condition, this.#schema)) };
    }
    const { extractor } = this.#checker;
    const { stored, source } = this.#readOf(op.id);
    const extracted = extractor.extract(stored, source);
    return matchesDocument(condition, extractor.schema, op.id, extracted);
  }

  #readOf(id: number) {
    if (this.#read?.id !== id) {
      const stored = decodeDocument(this.#current(id).document);
      this.#read = { id, stored, source: JSON.parse(stored.source) };
    }
    return this.#read;
  }

  /** Top-level source keys are merged, null removes one; named vectors are replaced, null removes one. */
  #patched(op: ContentOp, { vectors, sparse }: PreparedOp): Buffer {
    const before = decodeDocument(this.#current(op.id).document);
    const source = parseExact(before.source) as Record<string, unknown>;
    for (const [name, value] of Object.entries(op.source)) {
      if (value === null) delete source[name];
      else Object.defineProperty(source, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return encodeDocument({
      source: JSON.stringify(source),
      vectors: replaced(before.vectors, vectors, op.vectors),
      sparse: replaced(before.sparse, sparse, op.sparseVectors),
    });
  }
}

function isEmpty({ source, vectors = {}, sparseVectors = {} }: ContentOp): boolean {
  return [source, vectors, sparseVectors].every((part) => Object.keys(part).length === 0);
}

/** A document's text may be long, and its condition about something else. */
function onlyWhat(condition: Filter, schema: Schema): Schema {
  const names = filterFields(condition);
  return { ...schema, fields: schema.fields.filter(({ name }) => names.has(name)), vectors: [], sparseVectors: [] };
}

function replaced<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  input: Readonly<Record<string, unknown>> | undefined,
): Map<string, T> {
  const merged = new Map([...before, ...after]);
  for (const [name, value] of Object.entries(input ?? {})) if (value === null) merged.delete(name);
  return merged;
}
