import type { AliasAction, CollectionInfo, CollectionSchema, SchemaField } from "../../client/index.ts";
import { UsageError } from "../command.ts";
import { formatBytes, formatTable } from "../output.ts";
import type { Run } from "../spec.ts";

export const listCollections: Run = async ({ namespace, out, signal }) => {
  const found: CollectionInfo[] = [];
  for await (const info of namespace.collections({ signal })) found.push(info);
  await out.list("collections", found, {
    NAME: ({ name }) => name,
    ALIASES: ({ aliases }) => aliases.join(", "),
    INDEXED: ({ manifest }) => manifest.records,
    SIZE: ({ manifest }) => formatBytes(manifest.bytes),
    BACKLOG: ({ backpressure }) => backpressure.backlog_records,
    INDEX: ({ hot }) => hot.state,
  });
  return undefined;
};

export const createCollection: Run = async (context) => {
  const schema = context.jsonOption("schema") ?? {};
  const info = await context.namespace.createCollection(context.arg(0), schema as CollectionSchema, context);
  await context.out.value(info, () => `collection ${info.name} has the id ${info.id}`);
  return undefined;
};

function kindText(kind: SchemaField["kind"]): string {
  return typeof kind === "string" ? kind : `text (${kind.text.analyzer ?? "standard"})`;
}

function fieldsTable({ fields, vectors, sparse_vectors }: CollectionInfo["schema"]): string {
  const rows = [
    ...fields.map(({ name, kind, indexed, fast, source_path }) => [
      name,
      kindText(kind),
      indexed ? "yes" : "",
      fast ? "yes" : "",
      source_path === name ? "" : (source_path ?? ""),
    ]),
    ...vectors.map(({ name, dim, distance }) => [name, `vector (${dim}, ${distance})`, "", "", ""]),
    ...sparse_vectors.map(({ name }) => [name, "sparse vector", "", "", ""]),
  ];
  return rows.length === 0 ? "no fields" : formatTable(["FIELD", "KIND", "INDEXED", "FAST", "PATH"], rows);
}

export const getCollection: Run = async (context) => {
  const { out } = context;
  const info = await context.namespace.collection(context.arg(0)).info(context);
  const { manifest, backpressure, hot } = info;
  await out.fields(info, {
    name: info.name,
    id: info.id,
    aliases: info.aliases.join(", "),
    index: `version ${manifest.version}, ${manifest.records} documents, ${formatBytes(manifest.bytes)}, ${hot.state}`,
    backlog: `${backpressure.backlog_records} changes, ${formatBytes(backpressure.backlog_bytes)}`,
    schema: `version ${info.schema_version}, ${info.schema.dynamic}`,
  });
  out.say(`\n${fieldsTable(info.schema)}`);
  return undefined;
};

export const dropCollection: Run = async (context) => {
  await context.namespace.collection(context.arg(0)).drop(context);
  await context.out.value({ dropped: true }, () => `collection ${context.arg(0)} is dropped`);
  return undefined;
};

export const fields: Run = async (context) => {
  const collection = context.namespace.collection(context.arg(0));
  const added = context.jsonOption("add");
  if (added !== undefined) {
    if (!Array.isArray(added)) throw new UsageError("--add must be a JSON array of fields");
    const expected = context.whole("expect-version", 1);
    await collection.addFields(added as SchemaField[], {
      signal: context.signal,
      ...(expected === undefined ? {} : { expectedSchemaVersion: expected }),
    });
  }
  const { schema, schema_version } = await collection.info(context);
  await context.out.value({ schema, schema_version }, () => fieldsTable(schema));
  return undefined;
};

export const versions: Run = async (context) => {
  const found = await context.namespace.collection(context.arg(0)).versions(context);
  await context.out.list("versions", found, {
    VERSION: ({ version }) => version,
    CREATED: ({ created_at }) => created_at,
    DOCUMENTS: ({ records }) => records,
    APPLIED: ({ applied }) => applied,
    LANCE: ({ lance }) => lance?.version,
  });
  return undefined;
};

export const alias: Run = async (context) => {
  const [name, collection] = context.args;
  const remove = context.flag("remove");
  if (remove && (name === undefined || collection !== undefined)) throw new UsageError("--remove takes one ALIAS");
  if (!remove && name !== undefined && collection === undefined) throw new UsageError("COLLECTION is missing");
  const actions: AliasAction[] = [];
  if (name !== undefined && collection !== undefined) actions.push({ add: { alias: name, collection } });
  if (name !== undefined && remove) actions.push({ remove: { alias: name } });
  const { namespace, signal } = context;
  const found =
    actions.length === 0 ? await namespace.aliases({ signal }) : await namespace.updateAliases(actions, { signal });
  await context.out.list("aliases", found, {
    ALIAS: (each) => each.alias,
    COLLECTION: (each) => each.collection,
  });
  return undefined;
};
