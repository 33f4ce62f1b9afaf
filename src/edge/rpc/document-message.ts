import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { VersionedDocument } from "../../engine/collection/document-codec.ts";
import type { DocumentContent, OpResult, WriteOp } from "../../engine/collection/ops.ts";
import type { Backpressure } from "../../engine/collection/settings.ts";
import { invalid } from "../../engine/errors.ts";
import { parseExact, withDoubles } from "../../engine/exact-json.ts";
import type { Schema } from "../../engine/schema/schema.ts";
import { shortFloats } from "../../engine/search/vector/short-floats.ts";
import type { SparseVector, Vector } from "../../gen/service/collection/v1/common_pb.ts";
import type {
  DocumentPatch,
  DocumentSchema,
  DocumentWrite,
  WriteOp as WriteOpMessage,
} from "../../gen/service/collection/v1/document_pb.ts";
import { filterOf } from "./filter.ts";
import { toCount } from "./request.ts";

/** Documents and operations on them as messages. */

export function documentMessage(document: VersionedDocument): MessageInitShape<typeof DocumentSchema> {
  const { id, version, source, vectors, sparse } = document;
  return {
    id: BigInt(id),
    found: true,
    version: BigInt(version),
    source: withDoubles(parseExact(source)) as JsonObject,
    vectors: Object.fromEntries([...vectors].map(([name, values]) => [name, { values: shortFloats(values) }])),
    sparseVectors: Object.fromEntries(
      [...sparse].map(([name, { indices, values }]) => [name, { indices: [...indices], values: shortFloats(values) }]),
    ),
  };
}

export function resultMessage({ id, status, version }: OpResult) {
  return { id: BigInt(id), status, version: BigInt(version) };
}

export function backlogMessage({ backlogRecords, backlogBytes, throttled }: Backpressure) {
  return { records: BigInt(backlogRecords), bytes: BigInt(backlogBytes), throttled };
}

export function parseOpMessages(ops: readonly WriteOpMessage[], schema: Schema): WriteOp[] {
  return ops.map(({ op }, i) => {
    if (op.case === undefined) throw invalid(`ops[${i}]`, "must have one key of upsert, insert, patch, delete");
    const path = `ops[${i}].${op.case}`;
    const { id: givenId, condition: givenCondition, ifVersion: givenVersion } = op.value;
    if (givenId === undefined) throw invalid(`${path}.id`, "is required");
    const id = toCount(`${path}.id`, givenId);
    const condition = filterOf(`${path}.condition`, givenCondition, schema);
    const ifVersion = givenVersion === undefined ? undefined : toCount(`${path}.if_version`, givenVersion);
    if (op.case === "delete") return { kind: op.case, id, condition, ifVersion };
    if (op.case !== "patch") {
      if (op.value.source === undefined) throw invalid(`${path}.source`, "is required");
      if (op.value.removeVectors.length > 0) throw invalid(`${path}.remove_vectors`, "is for a patch only");
    }
    return { kind: op.case, id, ...contentOf(path, op.value, schema), condition, ifVersion };
  });
}

export function parsePatchMessage(path: string, message: DocumentPatch | undefined, schema: Schema): DocumentContent {
  if (message === undefined) throw invalid(path, "is required");
  return contentOf(path, message, schema);
}

type Content = Pick<DocumentWrite | DocumentPatch, "source" | "vectors" | "sparseVectors" | "removeVectors">;

function contentOf(path: string, content: Content, schema: Schema): DocumentContent {
  const { source = {}, vectors, sparseVectors, removeVectors } = content;
  const known = new Set([...schema.vectors, ...schema.sparseVectors].map(({ name }) => name));
  for (const [i, name] of removeVectors.entries()) {
    const at = `${path}.remove_vectors[${i}]`;
    if (!known.has(name)) throw invalid(at, "is not in the schema");
    if (Object.hasOwn(vectors, name) || Object.hasOwn(sparseVectors, name))
      throw invalid(at, "is set by the same patch");
  }
  const dense = Object.entries(vectors).map(([name, { values }]: [string, Vector]) => [name, values] as const);
  const sparse = Object.entries(sparseVectors).map(
    ([name, { indices, values }]: [string, SparseVector]) => [name, { indices, values }] as const,
  );
  const isSparse = (name: string) => schema.sparseVectors.some((spec) => spec.name === name);
  // As in REST, null takes a vector away.
  const removed = (names: readonly string[]) => names.map((name) => [name, null] as const);
  return {
    source,
    vectors: Object.fromEntries([...dense, ...removed(removeVectors.filter((name) => !isSparse(name)))]),
    sparseVectors: Object.fromEntries([...sparse, ...removed(removeVectors.filter(isSparse))]),
  };
}

/**
 * The same text for the same request, whichever way it was encoded: the order of a map's entries is up to the client's
 * library and may change from one try to the next.
 */
export function canonicalText(value: unknown): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${canonicalText(entry)}`).join(",")}}`;
}
