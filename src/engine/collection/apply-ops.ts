import type { Draft } from "../commit/draft.ts";
import { alreadyExists, EngineError, invalid } from "../errors.ts";
import { type ExtractedDocument, Extractor } from "../search/document.ts";
import { matchesDocument } from "../search/filter/evaluate.ts";
import { documentKey } from "./collection-store.ts";
import { decodeDocument, encodeDocument, encodeStored, openStored, type StoredDocument } from "./document-codec.ts";
import type { OpResult, WriteOp } from "./ops.ts";
import type { Schema } from "./schema.ts";
import { inferFields } from "./schema.ts";
import { addFields } from "./schema-parse.ts";
import { StoredExtractor } from "./stored-extract.ts";
import type { DocumentChange } from "./write-record.ts";

export interface AppliedOps {
  readonly changes: readonly DocumentChange[];
  /** With the fields that dynamic documents have added. */
  readonly schema: Schema;
  /** How many documents there are more than before. */
  readonly documentsAdded: number;
}

interface Current {
  readonly version: number;
  readonly bytes: Uint8Array;
}

/** Applies operations to a collection's documents as part of a change, each on what the ones before it leave. */
export class OpApplier {
  readonly #draft: Draft;
  readonly #collectionId: number;
  readonly #changes = new Map<number, DocumentChange>();
  #schema: Schema;
  #extractor: Extractor;
  #documentsAdded = 0;

  constructor(draft: Draft, collectionId: number, schema: Schema) {
    this.#draft = draft;
    this.#collectionId = collectionId;
    this.#schema = schema;
    this.#extractor = new Extractor(schema);
  }

  /** An operation that does not fit leaves the documents and the schema as they were. */
  applyIfItFits(op: WriteOp): OpResult | EngineError {
    const schema = this.#schema;
    const extractor = this.#extractor;
    try {
      return this.apply(op, "");
    } catch (error) {
      if (!(error instanceof EngineError) || error.reason !== "invalid_argument") throw error;
      this.#schema = schema;
      this.#extractor = extractor;
      return error;
    }
  }

  /** Writes what the operations have changed. */
  finish(): AppliedOps {
    for (const { id, version, document } of this.#changes.values()) {
      const key = documentKey(this.#collectionId, id);
      if (document === undefined) this.#draft.delete(key);
      else this.#draft.put(key, encodeStored(version, document));
    }
    const changes = [...this.#changes.values()];
    return { changes, schema: this.#schema, documentsAdded: this.#documentsAdded };
  }

  /** `prefix` stands before the names in errors, for example `ops[3].upsert.`. */
  apply(op: WriteOp, prefix: string): OpResult {
    const path = prefix.slice(0, -1);
    const current = this.#current(op.id);
    const version = current?.version ?? 0;
    if (op.kind === "insert" && current !== undefined) {
      throw alreadyExists(`${path}: a document with the id ${op.id} already exists`, op.id);
    }
    if (op.kind === "patch" && current === undefined) {
      throw new EngineError("not_found", `${path}: there is no document with the id ${op.id}`, {
        details: { field: path },
      });
    }
    if (!this.#holds(op, current)) return { id: op.id, status: "condition_failed", version };
    if (op.kind === "delete") {
      if (current === undefined) return { id: op.id, status: "noop", version: 0 };
      this.#documentsAdded--;
      this.#changes.set(op.id, { id: op.id, version: version + 1, document: undefined });
      return { id: op.id, status: "deleted", version: version + 1 };
    }
    const document = op.kind === "patch" ? this.#patched(op, current!, prefix) : this.#made(op, prefix);
    if (current === undefined) this.#documentsAdded++;
    this.#changes.set(op.id, { id: op.id, version: version + 1, document: encodeDocument(document) });
    return { id: op.id, status: current === undefined ? "created" : "updated", version: version + 1 };
  }

  /** The document as the operations before this one leave it. */
  #current(id: number): Current | undefined {
    const changed = this.#changes.get(id);
    if (changed !== undefined) {
      return changed.document === undefined ? undefined : { version: changed.version, bytes: changed.document };
    }
    const stored = this.#draft.get(documentKey(this.#collectionId, id));
    if (stored === undefined) return undefined;
    const { version, document } = openStored(stored);
    return { version, bytes: document };
  }

  #holds(op: WriteOp, current: Current | undefined): boolean {
    if (op.ifVersion !== undefined && op.ifVersion !== (current?.version ?? 0)) return false;
    if (op.condition === undefined) return true;
    if (current === undefined) return false;
    const extracted = new StoredExtractor(this.#schema).extract(decodeDocument(current.bytes));
    return matchesDocument(op.condition, this.#schema, op.id, extracted);
  }

  #made(op: Exclude<WriteOp, { kind: "delete" }>, prefix: string): StoredDocument {
    const extracted = this.#extract(op.source, op.vectors, op.sparseVectors, prefix);
    return this.#stored(op.source, extracted);
  }

  /** Top-level source keys are merged, null removes one; named vectors are replaced, null removes one. */
  #patched(op: Exclude<WriteOp, { kind: "delete" }>, current: Current, prefix: string): StoredDocument {
    const before = decodeDocument(current.bytes);
    const source: Record<string, unknown> = { ...(JSON.parse(before.source) as Record<string, unknown>) };
    for (const [name, value] of Object.entries(op.source)) {
      if (value === null) delete source[name];
      else Object.defineProperty(source, name, { value, enumerable: true, configurable: true, writable: true });
    }
    const after = this.#stored(source, this.#extract(source, op.vectors, op.sparseVectors, prefix));
    return {
      source: after.source,
      vectors: replaced(before.vectors, after.vectors, op.vectors),
      sparse: replaced(before.sparse, after.sparse, op.sparseVectors),
    };
  }

  #extract(source: unknown, vectors: unknown, sparse: unknown, prefix: string): ExtractedDocument {
    if (this.#schema.dynamic === "dynamic") this.#addInferred(source, prefix);
    return this.#extractor.extract(source, vectors, sparse, prefix);
  }

  #addInferred(source: unknown, prefix: string): void {
    const fields = inferFields(this.#schema, source);
    if (fields.length === 0) return;
    if (this.#schema.fields.length + fields.length > this.#schema.maxFields) {
      throw invalid(
        `${prefix}source.${fields[0]!.sourcePath}`,
        `the schema has its max_fields of ${this.#schema.maxFields}`,
      );
    }
    this.#schema = addFields(this.#schema, fields);
    this.#extractor = new Extractor(this.#schema);
  }

  #stored(source: unknown, extracted: ExtractedDocument): StoredDocument {
    return {
      source: JSON.stringify(source),
      vectors: named(this.#schema.vectors, extracted.vectors),
      sparse: named(this.#schema.sparseVectors, extracted.sparse),
    };
  }
}

function named<T>(specs: readonly { readonly name: string }[], values: readonly (T | undefined)[]): Map<string, T> {
  const found = new Map<string, T>();
  for (const [i, { name }] of specs.entries()) {
    const value = values[i];
    if (value !== undefined) found.set(name, value);
  }
  return found;
}

function replaced<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  given: Readonly<Record<string, unknown>> | undefined,
): Map<string, T> {
  const merged = new Map([...before, ...after]);
  for (const [name, value] of Object.entries(given ?? {})) if (value === null) merged.delete(name);
  return merged;
}
