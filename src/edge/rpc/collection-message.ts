import type { MessageInitShape } from "@bufbuild/protobuf";
import { manifestBytes, manifestRecords } from "../../engine/collection/collection-store.ts";
import type { AliasAction, CollectionInfo, Collections, ScanPlan } from "../../engine/collection/collections.ts";
import { invalid } from "../../engine/errors.ts";
import type { FieldKind, FieldSpec, Schema } from "../../engine/schema/schema.ts";
import { formatText, parseFields, parseSchema } from "../../engine/schema/schema-parse.ts";
import type {
  AliasAction as AliasActionMessage,
  CollectionInfoSchema,
  ManifestVersionSchema,
} from "../../gen/service/collection/v1/collection_pb.ts";
import type {
  FieldKindSchema,
  Field as FieldMessage,
  FieldSchema,
  Schema as SchemaMessage,
  SchemaSchema,
} from "../../gen/service/collection/v1/schema_pb.ts";

/** Collections as messages, and schemas both ways. */

/** Proto3 has no absent strings: an empty one stands for it. */
function nonEmpty(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** A field in its REST form, which the engine's parser takes. */
function fieldJson({ name, sourcePath, kind, indexed, fast, multi }: FieldMessage): unknown {
  const chosen = kind?.kind;
  return { name, source_path: nonEmpty(sourcePath), kind: chosen && kindJson(chosen), indexed, fast, multi };
}

function kindJson(kind: NonNullable<FieldMessage["kind"]>["kind"]): unknown {
  if (kind.case !== "text") return kind.case;
  return {
    text: { analyzer: nonEmpty(kind.value.analyzer), positions: kind.value.positions, folding: kind.value.folding },
  };
}

export function parseFieldMessages(path: string, fields: readonly FieldMessage[]): FieldSpec[] {
  return parseFields(path, fields.map(fieldJson));
}

export function parseSchemaMessage(path: string, message: SchemaMessage | undefined): Schema {
  if (message === undefined) throw invalid(path, "is required");
  const json = {
    fields: message.fields.map(fieldJson),
    vectors: message.vectors.map(({ name, dim, distance }) => ({ name, dim, distance: nonEmpty(distance) })),
    sparse_vectors: message.sparseVectors.map(({ name }) => ({ name })),
    dynamic: nonEmpty(message.dynamic),
    max_fields: message.maxFields,
  };
  return parseSchema(json, path);
}

type KindInit = MessageInitShape<typeof FieldKindSchema>;

function kindMessage(kind: FieldKind): KindInit {
  switch (kind.kind) {
    case "text":
      return { kind: { case: "text", value: formatText(kind) } };
    case "keyword":
      return { kind: { case: "keyword", value: {} } };
    case "i64":
      return { kind: { case: "i64", value: {} } };
    case "f64":
      return { kind: { case: "f64", value: {} } };
    case "bool":
      return { kind: { case: "bool", value: {} } };
    case "date":
      return { kind: { case: "date", value: {} } };
    case "json":
      return { kind: { case: "json", value: {} } };
  }
}

/** With every default written out. */
export function schemaMessage(schema: Schema): MessageInitShape<typeof SchemaSchema> {
  return {
    fields: schema.fields.map(
      ({ kind, name, sourcePath, indexed, fast, multi }): MessageInitShape<typeof FieldSchema> => ({
        name,
        sourcePath,
        kind: kindMessage(kind),
        indexed,
        fast,
        ...(multi ? { multi } : {}),
      }),
    ),
    vectors: [...schema.vectors],
    sparseVectors: [...schema.sparseVectors],
    dynamic: schema.dynamic,
    maxFields: schema.maxFields,
  };
}

function lanceMessage(lance: ScanPlan["lance"]) {
  return lance === null ? {} : { lance: { uri: lance.uri, version: BigInt(lance.version) } };
}

export function infoMessage(info: CollectionInfo): MessageInitShape<typeof CollectionInfoSchema> {
  const { meta, manifest, hot, backpressure } = info;
  return {
    id: BigInt(meta.id),
    namespace: meta.namespace,
    name: meta.name,
    aliases: [...info.aliases],
    schema: schemaMessage(meta.schema),
    schemaVersion: BigInt(meta.schemaVersion),
    manifest: {
      version: BigInt(manifest.version),
      records: BigInt(manifestRecords(manifest)),
      bytes: BigInt(manifestBytes(manifest)),
      ...lanceMessage(info.lance),
      applied: BigInt(manifest.applied),
    },
    hot,
    backpressure: {
      throttled: backpressure.throttled,
      backlogRecords: BigInt(backpressure.backlogRecords),
      backlogBytes: BigInt(backpressure.backlogBytes),
      retryAfterMs: BigInt(backpressure.retryAfterMs),
    },
  };
}

export function versionMessage({
  manifest,
  lance,
}: ReturnType<Collections["versions"]>[number]): MessageInitShape<typeof ManifestVersionSchema> {
  return {
    version: BigInt(manifest.version),
    createdAt: new Date(manifest.createdAtMs).toISOString(),
    records: BigInt(manifestRecords(manifest)),
    ...lanceMessage(lance),
    applied: BigInt(manifest.applied),
  };
}

/** The plan without its token. */
export function scanMessage(plan: ScanPlan) {
  return { ...lanceMessage(plan.lance), tailRecords: BigInt(plan.tailRecords), schema: schemaMessage(plan.schema) };
}

export function parseAliasAction({ action }: AliasActionMessage, i: number): AliasAction {
  switch (action.case) {
    case "add":
      return { kind: "add", alias: action.value.alias, collection: action.value.collection };
    case "remove":
      return { kind: "remove", alias: action.value.alias };
    case undefined:
      throw invalid(`actions[${i}]`, "must have one key, add or remove");
  }
}
