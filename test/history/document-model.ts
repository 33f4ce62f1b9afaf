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
  /** 0: there is none. */
  readonly version: number;
  readonly n: number | undefined;
}

export type DocumentOutput =
  | { readonly kind: "written"; readonly results: readonly ModelResult[] }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "found"; readonly documents: readonly Found[] };

export type Documents = ReadonlyMap<number, ModelDocument>;
export type DocumentOperation = Operation<DocumentInput, DocumentOutput>;

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
      const seen = input.ids.map((id) => foundOf(documents, id));
      return isDeepStrictEqual(seen, output.documents) ? documents : undefined;
    }
    const model = new CollectionModel(documentFields, "ignore");
    model.documents = documents as Map<number, ModelDocument>;
    try {
      const results = model.write(input.ops);
      if (output === undefined) return model.documents === documents ? undefined : model.documents;
      return output.kind === "written" && isDeepStrictEqual(results, output.results) ? model.documents : undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return output?.kind === "refused" && output.reason === error.reason ? documents : undefined;
    }
  },
  key: (documents) => JSON.stringify([...documents.keys()].sort().map((id) => foundOf(documents, id))),
  show: (input, output) => `${JSON.stringify(input)} → ${JSON.stringify(output)}`.slice(0, 400),
};

function foundOf(documents: Documents, id: number): Found {
  const document = documents.get(id);
  const { n, patched } = (document?.source ?? {}) as { n?: number; patched?: number };
  return { id, version: document?.version ?? 0, n: patched ?? n };
}
