import type { Client, CollectionSchema, NewRecord, WriteOp } from "../client/index.ts";
import { isWrittenNumber, parseExactly } from "../client/json.ts";
import { CommandFailure, UsageError } from "./command.ts";
import type { Context } from "./context.ts";
import type { Row } from "./rows.ts";

/** Where rows go. The same batch under the same key again changes nothing. */
export interface ImportTarget {
  readonly name: string;
  /** What of the command line decides how a row is written. */
  readonly options: string;
  /** Whether a batch may be written twice without harm however late, and not just within the window of its key. */
  readonly repeatable: boolean;
  send(rows: readonly Row[], key: string): Promise<void>;
}

type Json = Readonly<Record<string, unknown>>;

function parseRow({ text, line }: Row): Json {
  let parsed: unknown;
  try {
    parsed = parseExactly(text);
  } catch (error) {
    throw new CommandFailure("invalid_argument", `line ${line} is not JSON: ${(error as Error).message}`);
  }
  if (isObject(parsed)) return parsed;
  throw new CommandFailure("invalid_argument", `line ${line} must be a JSON object`);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

export async function openTarget(context: Context, client: Client): Promise<ImportTarget> {
  const collection = context.text("collection");
  const stream = context.text("stream");
  if ((collection === undefined) === (stream === undefined)) {
    throw new UsageError("give either --collection or --stream");
  }
  return stream === undefined
    ? await openCollection(context, client, collection!)
    : await openStream(context, client, stream);
}

async function openCollection(context: Context, client: Client, name: string): Promise<ImportTarget> {
  for (const option of ["key", "partition"]) {
    if (context.text(option) !== undefined) throw new UsageError(`--${option} is for --stream`);
  }
  const namespace = client.namespace(context.namespaceName);
  const { signal } = context;
  const schemaOption = context.jsonOption("schema") as CollectionSchema | undefined;
  if (schemaOption !== undefined) await namespace.createCollection(name, schemaOption, { signal });
  const collection = namespace.collection(name);
  const { schema } = await collection.info({ signal });
  const idColumn = context.text("id");
  const shape = {
    idColumn,
    fields: new Set(schema.fields.map(({ name: each, source_path }) => (source_path ?? each).split(".")[0]!)),
    vectors: new Set(schema.vectors.map((each) => each.name)),
    sparse: new Set(schema.sparse_vectors.map((each) => each.name)),
  };
  return {
    name: `collection ${name}`,
    options: JSON.stringify({ id: idColumn }),
    repeatable: true,
    send: async (rows, key) => {
      const ops = rows.map((row) => ({ upsert: documentOf(row, shape) }) as unknown as WriteOp);
      await collection.write(ops, { signal, idempotencyKey: key });
    },
  };
}

interface Shape {
  readonly idColumn: string | undefined;
  readonly fields: ReadonlySet<string>;
  readonly vectors: ReadonlySet<string>;
  readonly sparse: ReadonlySet<string>;
}

const exportedKeys: ReadonlySet<string> = new Set(["id", "version", "source", "vectors", "sparse_vectors"]);

/** A row of an export as it is; another row by its columns. */
function documentOf(row: Row, shape: Shape): Json {
  const columns = parseRow(row);
  const exported =
    typeof columns["source"] === "object" &&
    typeof columns["id"] === "number" &&
    Object.keys(columns).every((name) => exportedKeys.has(name));
  if (exported && shape.idColumn === undefined) {
    const { version: _, ...document } = columns;
    return document;
  }
  const idColumn = shape.idColumn ?? ["_id", "id"].find((name) => columns[name] !== undefined) ?? "#";
  const id = idColumn === "#" ? row.after.rows - 1 : idOf(columns[idColumn]);
  if (!Number.isSafeInteger(id) || id < 0 || (idColumn !== "#" && columns[idColumn] == null)) {
    const shown = JSON.stringify(columns[idColumn]) ?? "nothing";
    const hint = "--id names another column; --id '#' numbers the rows";
    throw new CommandFailure("invalid_argument", `line ${row.line}: ${idColumn} is ${shown}, which is not an id`, hint);
  }
  const source: Record<string, unknown> = {};
  const vectors: Record<string, unknown> = {};
  const sparse: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(columns)) {
    if (value === null) continue;
    if (shape.vectors.has(name)) vectors[name] = arrayOf(value);
    else if (shape.sparse.has(name)) sparse[name] = arrayOf(value);
    else if (name !== idColumn || shape.fields.has(name)) source[name] = value;
  }
  return {
    id,
    source,
    ...(Object.keys(vectors).length === 0 ? {} : { vectors }),
    ...(Object.keys(sparse).length === 0 ? {} : { sparse_vectors: sparse }),
  };
}

/** A number that a double can't carry is none. */
function idOf(value: unknown): number {
  return isWrittenNumber(value) ? Number.NaN : Number(value);
}

/** CSV has no arrays: there one is JSON text. */
function arrayOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseExactly(value);
  } catch {
    return value;
  }
}

async function openStream(context: Context, client: Client, name: string): Promise<ImportTarget> {
  for (const option of ["id", "schema"]) {
    if (context.text(option) !== undefined) throw new UsageError(`--${option} is for --collection`);
  }
  const { signal } = context;
  const stream = client.namespace(context.namespaceName).stream(name);
  await stream.get({ signal });
  const keyColumn = context.text("key");
  const partition = context.whole("partition");
  const recordOf = (row: Row): NewRecord => {
    if (keyColumn === undefined) return { value: row.text };
    const key = parseRow(row)[keyColumn];
    if (key === undefined || key === null) return { value: row.text };
    return { key: typeof key === "string" ? key : JSON.stringify(key), value: row.text };
  };
  return {
    name: `stream ${name}`,
    options: JSON.stringify({ key: keyColumn, partition }),
    repeatable: false,
    send: async (rows, key) => {
      const records = rows.map(recordOf);
      const options = { signal, idempotencyKey: key };
      if (partition === undefined) await stream.appendByKey(records, options);
      else await stream.append(partition, records, options);
    },
  };
}
