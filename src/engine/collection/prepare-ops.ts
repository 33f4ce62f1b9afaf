import { EngineError } from "../errors.ts";
import { inferFields, type Schema } from "../schema/schema.ts";
import { addFields } from "../schema/schema-parse.ts";
import { type Extractor, extractorOf } from "../search/document.ts";
import { FloatSlab } from "../search/float-slab.ts";
import type { Steps } from "../turns.ts";
import { encodeDocument, type StoredDocument } from "./document-codec.ts";
import type { ContentOp, WriteOp } from "./ops.ts";

/** An operation that was checked against a schema. */
export interface PreparedOp {
  readonly op: WriteOp;
  /** The whole document, encoded, of an upsert or insert. */
  readonly document: Uint8Array | undefined;
  /** What a patch sets. */
  readonly vectors: StoredDocument["vectors"];
  readonly sparse: StoredDocument["sparse"];
}

export interface PreparedOps {
  readonly ops: readonly PreparedOp[];
  /** The version of the schema that they were checked against. */
  readonly schemaVersion: number;
  /** The schema with the fields that they add to it. */
  readonly schema: Schema;
  readonly addsFields: boolean;
}

/** Where an operation stands in its request, for errors. */
export type OpPath = (i: number, op: WriteOp) => string;

const nothing: ReadonlyMap<string, never> = new Map<string, never>();

/**
 * Checks operations and encodes their documents, a step for each: all that can be done before the state of the
 * documents is looked at, so that the commit is short.
 */
export function* prepareOps(
  ops: readonly WriteOp[],
  schema: Schema,
  schemaVersion: number,
  pathOf: OpPath,
): Steps<PreparedOps> {
  const preparer = new Preparer(schema);
  const prepared: PreparedOp[] = [];
  for (const [i, op] of ops.entries()) {
    prepared.push(preparer.prepare(op, pathOf(i, op)));
    yield;
  }
  return { ops: prepared, schemaVersion, schema: preparer.schema, addsFields: preparer.schema !== schema };
}

export interface FittingOps {
  readonly prepared: PreparedOps;
  /** For each operation why it was left out, or undefined. */
  readonly misfits: readonly (EngineError | undefined)[];
}

/** The operations that fit the schema, at once. */
export function prepareFitting(ops: readonly WriteOp[], schema: Schema, schemaVersion: number): FittingOps {
  const preparer = new Preparer(schema);
  const fitting: PreparedOp[] = [];
  const misfits = ops.map((op) => {
    const prepared = preparer.prepareIfItFits(op);
    if (prepared instanceof EngineError) return prepared;
    fitting.push(prepared);
    return undefined;
  });
  const addsFields = preparer.schema !== schema;
  return { prepared: { ops: fitting, schemaVersion, schema: preparer.schema, addsFields }, misfits };
}

class Preparer {
  schema: Schema;
  #extractor: Extractor;
  /** The vectors of a document that is encoded at once. */
  readonly #passing: FloatSlab;

  constructor(schema: Schema) {
    this.schema = schema;
    this.#passing = new FloatSlab(floatsOf(schema));
    this.#extractor = extractorOf(schema);
  }

  /** An operation that does not fit leaves the schema as it was. */
  prepareIfItFits(op: WriteOp): PreparedOp | EngineError {
    const { schema } = this;
    const extractor = this.#extractor;
    try {
      return this.prepare(op, "");
    } catch (error) {
      if (!(error instanceof EngineError) || error.reason !== "invalid_argument") throw error;
      this.schema = schema;
      this.#extractor = extractor;
      return error;
    }
  }

  prepare(op: WriteOp, path: string): PreparedOp {
    if (op.kind === "delete") return { op, document: undefined, vectors: nothing, sparse: nothing };
    if (op.kind === "patch") {
      // Only what the patch sets is checked: the rest of the document was, by the schema of its time.
      const { vectors, sparse } = this.#stored({ ...op, source: withoutNulls(op.source) }, path);
      return { op, document: undefined, vectors, sparse };
    }
    this.#passing.reset();
    return { op, document: encodeDocument(this.#stored(op, path)), vectors: nothing, sparse: nothing };
  }

  #stored(op: ContentOp, path: string): StoredDocument {
    if (this.schema.dynamic === "dynamic") this.#addInferred(op.source);
    const prefix = path === "" ? "" : `${path}.`;
    const take = op.kind === "patch" ? undefined : this.#passing.take;
    const extracted = this.#extractor.extract(op.source, op.vectors, op.sparseVectors, prefix, take);
    return {
      source: op.kind === "patch" ? "" : JSON.stringify(op.source),
      vectors: named(this.schema.vectors, extracted.vectors),
      sparse: named(this.schema.sparseVectors, extracted.sparse),
    };
  }

  #addInferred(source: unknown): void {
    const fields = inferFields(this.schema, source);
    if (fields.length === 0) return;
    this.schema = addFields(this.schema, fields);
    this.#extractor = extractorOf(this.schema);
  }
}

function floatsOf({ vectors }: Schema): number {
  return vectors.reduce((sum, { dim }) => sum + dim, 0);
}

function withoutNulls(source: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== null));
}

function named<T>(specs: readonly { readonly name: string }[], values: readonly (T | undefined)[]): Map<string, T> {
  const found = new Map<string, T>();
  for (const [i, { name }] of specs.entries()) {
    const value = values[i];
    if (value !== undefined) found.set(name, value);
  }
  return found;
}
