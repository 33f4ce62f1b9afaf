import type { VersionedDocument } from "../../../engine/collection/document-codec.ts";
import type { WriteOp } from "../../../engine/collection/ops.ts";
import type { Backpressure } from "../../../engine/collection/settings.ts";
import { invalid } from "../../../engine/errors.ts";
import { integerMax } from "../../../engine/limits.ts";
import type { Schema } from "../../../engine/schema/schema.ts";
import type { Filter } from "../../../engine/search/filter/filter.ts";
import { parseFilter } from "../../../engine/search/filter/parse.ts";
import { refuseUnknown } from "../../../engine/unknown-fields.ts";
import { inTurns } from "../http/in-turns.ts";
import { floatsText } from "./float-text.ts";

type Json = Readonly<Record<string, unknown>>;

export function backlogJson({ backlogRecords, backlogBytes, throttled }: Backpressure) {
  return { records: backlogRecords, bytes: backlogBytes, throttled };
}

/** A document's text, made without parsing its source again. */
export function documentText({ id, version, source, vectors, sparse }: VersionedDocument, extra = ""): string {
  const parts = [
    `"id":${id}`,
    `${extra}"version":${version}`,
    `"source":${source}`,
    `"vectors":${vectorsText(vectors)}`,
  ];
  if (sparse.size > 0) {
    const entries = [...sparse].map(([name, { indices, values }]) => {
      return `${JSON.stringify(name)}:{"indices":[${indices.join(",")}],"values":${floatsText(values)}}`;
    });
    parts.push(`"sparse_vectors":{${entries.join(",")}}`);
  }
  return `{${parts.join(",")}}`;
}

function vectorsText(vectors: ReadonlyMap<string, Float32Array>): string {
  return `{${[...vectors].map(([name, values]) => `${JSON.stringify(name)}:${floatsText(values)}`).join(",")}}`;
}

function members(path: string, value: unknown, allowed: readonly string[]): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "must be an object");
  refuseUnknown(path, value, allowed, () => `known are ${allowed.join(", ")}`);
  return value as Json;
}

function optionalObject(path: string, value: unknown): Json | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw invalid(path, "must be an object");
  return value as Json;
}

function count(path: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(path, `must be an integer from 0 to ${integerMax}`);
  }
  return value;
}

export function parseFilterField(path: string, value: unknown, schema: Schema): Filter | undefined {
  return value === undefined || value === null ? undefined : parseFilter(value, schema, path);
}

const opKinds = ["upsert", "insert", "patch", "delete"] as const;
const writeFields = ["id", "source", "vectors", "sparse_vectors", "if", "if_version"];
const deleteFields = ["id", "if", "if_version"];

/** A single operation at once: to wait for what is there already costs as much as reading it. */
export function parseOps(ops: readonly unknown[], schema: Schema): WriteOp[] | Promise<WriteOp[]> {
  if (ops.length === 1) return [parseOp("ops[0]", ops[0], schema)];
  return inTurns(ops, (op, i) => parseOp(`ops[${i}]`, op, schema));
}

function parseOp(path: string, value: unknown, schema: Schema): WriteOp {
  const op = members(path, value, opKinds);
  const [kind, ...more] = Object.keys(op) as (typeof opKinds)[number][];
  if (kind === undefined || more.length > 0) throw invalid(path, `must have one key of ${opKinds.join(", ")}`);
  const inner = `${path}.${kind}`;
  const body = members(inner, op[kind], kind === "delete" ? deleteFields : writeFields);
  if (body["id"] === undefined || body["id"] === null) throw invalid(`${inner}.id`, "is required");
  const id = count(`${inner}.id`, body["id"]);
  const condition = parseFilterField(`${inner}.if`, body["if"], schema);
  const ifVersion = body["if_version"] == null ? undefined : count(`${inner}.if_version`, body["if_version"]);
  if (kind === "delete") return { kind, id, condition, ifVersion };
  const source = optionalObject(`${inner}.source`, body["source"]);
  if (source === undefined && kind !== "patch") throw invalid(`${inner}.source`, "is required");
  return {
    kind,
    id,
    source: source ?? {},
    vectors: optionalObject(`${inner}.vectors`, body["vectors"]),
    sparseVectors: optionalObject(`${inner}.sparse_vectors`, body["sparse_vectors"]),
    condition,
    ifVersion,
  };
}

export function parsePatch(path: string, value: unknown) {
  const body = members(path, value, ["source", "vectors", "sparse_vectors"]);
  return {
    source: optionalObject(`${path}.source`, body["source"]) ?? {},
    vectors: optionalObject(`${path}.vectors`, body["vectors"]),
    sparseVectors: optionalObject(`${path}.sparse_vectors`, body["sparse_vectors"]),
  };
}
