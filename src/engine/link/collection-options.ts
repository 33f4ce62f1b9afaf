import type { DocumentContent, WriteOp } from "../collection/ops.ts";
import { invalid } from "../errors.ts";
import { asDouble, isWrittenNumber, parseExact } from "../exact-json.ts";
import { type JsonPath, parsePointer, resolvePointer } from "../json-pointer.ts";
import type { BatchCursor } from "../log/record-batch.ts";

/** How a record becomes an operation on a document. */
export interface CollectionRule {
  /** Throws invalid_argument for a record that names no document. `placeId` is the id of its place in the source. */
  op(cursor: BatchCursor, placeId: () => number): WriteOp;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
const decimal = /^(?:0|[1-9]\d{0,15})$/;
const unconditional = { condition: undefined, ifVersion: undefined } as const;
const known = ["id", "source", "vectors"];

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

export function parseCollectionOptions(options: unknown): CollectionRule {
  if (!isObject(options)) throw invalid("options", "must be an object");
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw invalid(`options.${unknown}`, `unknown option; a collection takes ${known.join(", ")}`);
  }
  const id = parseId(options["id"] ?? { json: "/id" });
  const source = pointer("options.source", options["source"] ?? "");
  const vectors = parseVectors(options["vectors"] ?? {});
  return {
    op(cursor, placeId) {
      if (cursor.valueLength < 0) return { kind: "delete", id: keyId(cursor), ...unconditional };
      const document = jsonValue(cursor);
      return {
        kind: "upsert",
        id: id === "offset" ? placeId() : documentId(resolvePointer(document, id)),
        ...contentOf(document, source, vectors),
        ...unconditional,
      };
    },
  };
}

function pointer(field: string, value: unknown): JsonPath {
  if (typeof value !== "string") throw invalid(field, "must be a JSON pointer such as /a/b");
  return parsePointer(field, value);
}

function parseId(value: unknown): JsonPath | "offset" {
  if (value === "offset") return value;
  const entries = isObject(value) ? Object.entries(value) : [];
  const [entry] = entries;
  if (entry === undefined || entries.length > 1 || entry[0] !== "json") {
    throw invalid("options.id", 'must be {json: POINTER} or "offset"');
  }
  return pointer("options.id.json", entry[1]);
}

function parseVectors(value: unknown): (readonly [string, JsonPath])[] {
  if (!isObject(value)) throw invalid("options.vectors", "must be an object of vector names and JSON pointers");
  return Object.entries(value).map(([name, path]) => [name, pointer(`options.vectors.${name}`, path)] as const);
}

function contentOf(
  document: unknown,
  sourcePath: JsonPath,
  vectorPaths: readonly (readonly [string, JsonPath])[],
): DocumentContent {
  const source = resolvePointer(document, sourcePath);
  if (!isObject(source)) throw invalid("source", "must be an object");
  const vectors = vectorPaths.map(([name, path]) => [name, asDoubles(resolvePointer(document, path))] as const);
  return {
    source,
    vectors: Object.fromEntries(vectors.filter(([, vector]) => vector !== undefined && vector !== null)),
    sparseVectors: undefined,
  };
}

function asDoubles(vector: unknown): unknown {
  return Array.isArray(vector) ? vector.map(asDouble) : vector;
}

function jsonValue(cursor: BatchCursor): unknown {
  try {
    return parseExact(utf8.decode(cursor.value));
  } catch {
    throw invalid("value", "must be JSON in UTF-8");
  }
}

function documentId(value: unknown): number {
  const id = typeof value === "string" ? decimalId(value) : value;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 0) {
    throw invalid("id", `must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return id;
}

/** A record without a value has only its key to tell which document it deletes. */
function keyId(cursor: BatchCursor): number {
  const id = decimalId(cursor.key?.toString("latin1") ?? "");
  if (id === undefined) throw invalid("key", "of a record that deletes must be a document's id in decimal digits");
  return id;
}

function decimalId(text: string): number | undefined {
  const id = decimal.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
