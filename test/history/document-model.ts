import { isDeepStrictEqual } from "node:util";
import {
  CollectionModel,
  type ModelDocument,
  type ModelField,
  type ModelOp,
  type ModelResult,
  Refused,
} from "../model/collection/model.ts";
import type { Model, Operation } from "./linearize.ts";

export type DocumentInput =
  | { readonly kind: "write"; readonly ops: readonly ModelOp[] }
  | { readonly kind: "get"; readonly ids: readonly number[] };

export interface Found {
  readonly id: number;
  /** 0: there is none. Undefined: there is one, and SQL does not tell its version. */
  readonly version: number | undefined;
  readonly n: number | undefined;
}

export type DocumentOutput =
  | { readonly kind: "written"; readonly results: readonly ModelResult[] }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "found"; readonly documents: readonly Found[] }
  /** Nothing was told, but someone saw what it wrote, in this version. */
  | { readonly kind: "seen"; readonly id: number; readonly version: number | undefined };

export type Documents = ReadonlyMap<number, ModelDocument>;
export interface DocumentOperation extends Operation<DocumentInput, DocumentOutput> {
  /** The writes whose documents a read shows. */
  readonly shows?: readonly { readonly id: number; readonly write: DocumentOperation }[];
}

export const documentFields: readonly ModelField[] = [
  { name: "n", path: "n", kind: "i64", indexed: true, fast: true },
  { name: "patched", path: "patched", kind: "i64", indexed: true, fast: true },
];

/** A few documents that are written together and read together: batches are whole, conditions hold, versions count. */
export const documentModel: Model<Documents, DocumentInput, DocumentOutput> = {
  start: new Map(),
  step(documents, input, output) {
    if (input.kind === "get") {
      if (output?.kind !== "found") return undefined;
      const isSo = input.ids.every((id, i) => isShown(documents, id, output.documents[i]));
      return isSo && output.documents.length === input.ids.length ? documents : undefined;
    }
    const model = new CollectionModel(documentFields, "ignore");
    model.documents = documents as Map<number, ModelDocument>;
    try {
      const results = model.write(input.ops);
      if (output?.kind === "seen") {
        const isSo = results.some(({ id, version }) => id === output.id && isVersion(version, output.version));
        return isSo && model.documents !== documents ? model.documents : undefined;
      }
      if (output === undefined) return model.documents === documents ? undefined : model.documents;
      return output.kind === "written" && isDeepStrictEqual(results, output.results) ? model.documents : undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return output?.kind === "refused" && output.reason === error.reason ? documents : undefined;
    }
  },
  // Every value is written once: it does not come back after another one.
  isLost(documents, { input, output, shows }: DocumentOperation, isDone) {
    if (shows === undefined || output?.kind !== "found" || input.kind !== "get") return false;
    return shows.some(({ id, write }) => {
      if (!isDone(write)) return false;
      return !isShown(
        documents,
        id,
        output.documents.find((each) => each.id === id),
      );
    });
  },
  key: (documents) => JSON.stringify([...documents.keys()].sort().map((id) => foundOf(documents, id))),
  show: (input, output) => `${JSON.stringify(input)} → ${JSON.stringify(output)}`.slice(0, 400),
};

function isShown(documents: Documents, id: number, told: Found | undefined): boolean {
  const now = foundOf(documents, id);
  return told?.id === id && isVersion(now.version, told.version) && told.n === now.n;
}

function isVersion(version: number, told: number | undefined): boolean {
  return told === undefined ? version > 0 : version === told;
}

function foundOf(documents: Documents, id: number): Found & { readonly version: number } {
  const document = documents.get(id);
  const { n, patched } = (document?.source ?? {}) as { n?: number; patched?: number };
  return { id, version: document?.version ?? 0, n: patched ?? n };
}

const valueIn = ({ source }: ModelOp): number | undefined =>
  (source?.["patched"] ?? source?.["n"]) as number | undefined;

/** The value that a write has which nobody ever saw: all of these are the same to everyone. */
const unseen = Number.MIN_SAFE_INTEGER;

/**
 * Makes of a history one that is easier to search and has an order if and only if this one has. Values are told apart, so a
 * read tells which write it shows: one without an answer has happened then, before the read ended. Values that no
 * read shows make no difference to anyone and become one.
 */
export function settleWrites(operations: readonly DocumentOperation[]): DocumentOperation[] {
  const reads = new Map<string, { version: number | undefined; endedAt: number }>();
  for (const { output, endedAt } of operations) {
    if (output?.kind !== "found") continue;
    for (const { id, n, version } of output.documents) {
      if (version === 0) continue;
      const key = `${id} ${n}`;
      const known = reads.get(key);
      reads.set(key, { version: known?.version ?? version, endedAt: Math.min(known?.endedAt ?? Infinity, endedAt) });
    }
  }
  const writers = new Map<string, DocumentOperation>();
  const written = operations.flatMap((operation): DocumentOperation[] => {
    const { input } = operation;
    if (input.kind === "get") return operation.output === undefined ? [] : [operation];
    const settled = settledWrite(operation, input.ops, reads);
    for (const op of input.ops) writers.set(`${op.id} ${valueIn(op)}`, settled);
    return [settled];
  });
  return written.map((operation) => {
    if (operation.output?.kind !== "found") return operation;
    const shows = operation.output.documents.flatMap(({ id, n, version }) => {
      // That there is none may be the work of many.
      const write = version === 0 ? undefined : writers.get(`${id} ${n}`);
      return write === undefined ? [] : [{ id, write }];
    });
    return { ...operation, shows };
  });
}

function settledWrite(
  operation: DocumentOperation,
  ops: readonly ModelOp[],
  reads: ReadonlyMap<string, { readonly version: number | undefined; readonly endedAt: number }>,
): DocumentOperation {
  const seen = ops.flatMap((op) => {
    const read = reads.get(`${op.id} ${valueIn(op)}`);
    return read === undefined ? [] : [{ id: op.id, ...read }];
  });
  const shown = ops.map((op) => (reads.has(`${op.id} ${valueIn(op)}`) ? op : hidden(op)));
  const input = { kind: "write", ops: shown } as const;
  const [first] = seen;
  if (operation.output !== undefined || first === undefined) return { ...operation, input };
  const endedAt = Math.min(operation.endedAt, ...seen.map((each) => each.endedAt));
  return { ...operation, input, endedAt, output: { kind: "seen", id: first.id, version: first.version } };
}

function hidden(op: ModelOp): ModelOp {
  if (op.source === undefined) return op;
  return { ...op, source: "patched" in op.source ? { patched: unseen } : { n: unseen } };
}
