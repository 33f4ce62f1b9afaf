import { type Store, StoreError, type WriteOp } from "../port/store.ts";
import { makeKey, tables } from "./keys.ts";
import { type Migration, migrations } from "./migrations.ts";

/** Raised when what is in a store changes its form: an older store is migrated, a newer one refused. */
export const formatVersion = 8;
/** The same for the objects that manifests name: segments, graphs and columnar datasets. They can be made anew. */
export const objectsVersion = 1;

/** The one value of `tables.format`. */
interface FormatRecord {
  /** The form that the store has, or is being brought to. */
  readonly version: number;
  /** Absent in stores that were written before it was recorded: 1. */
  readonly objects?: number;
  /** A migration to `version` that is under way, and the key up to which it has come, in hex. */
  readonly migrating?: { readonly from: number; readonly cursor: string };
}

export interface FormatOptions {
  /** What the store is called in messages. */
  readonly name?: string;
  /** Whether a store without a version is of the first one: the instance's store had none at first. */
  readonly adopts?: boolean;
  /** The version that this build writes, and the steps that lead to it. */
  readonly version?: number;
  readonly migrations?: readonly Migration[];
}

const key = makeKey(tables.format);

/**
 * Writes the version into an empty store, brings an older store to this build's form, and refuses what this build can't
 * read. Where it fails or the process ends under way, the next start goes on.
 */
export async function checkFormat(store: Store, options: FormatOptions = {}): Promise<void> {
  const { name = "the store", adopts = false, version = formatVersion } = options;
  const stored = store.get(key);
  if (stored === undefined) {
    const isNew = isEmpty(store);
    if (!isNew && !adopts) {
      throw new StoreError("damaged", `${name} has no format version: it is damaged or not a native-engine store`);
    }
    await store.commit([put({ version: isNew ? version : 1, objects: objectsVersion })]);
    if (isNew) return;
  }
  let record = readFormat(store, name)!;
  if (record.version > version) throw newer(`${name} has format version ${record.version}`, version);
  if ((record.objects ?? 1) > objectsVersion) {
    throw newer(`the objects of ${name} have format version ${record.objects}`, objectsVersion);
  }
  while (record.version < version || record.migrating !== undefined) {
    const to = record.migrating === undefined ? record.version + 1 : record.version;
    record = await migrate(store, record, to, options.migrations ?? migrations);
  }
}

/** What is recorded; undefined in a store that has no version. */
export function readFormat(store: Pick<Store, "get">, name = "the store"): FormatRecord | undefined {
  const stored = store.get(key);
  if (stored === undefined) return undefined;
  try {
    const value = JSON.parse(Buffer.from(stored).toString()) as FormatRecord;
    if (Number.isSafeInteger(value.version) && value.version > 0) return value;
  } catch {
    // Falls through to the one refusal below.
  }
  throw new StoreError("damaged", `${name}'s format version can't be read: restore the data from a backup`);
}

/** One version up, in steps. Each is one commit with the place it has come to, so that a crash loses nothing. */
async function migrate(store: Store, before: FormatRecord, to: number, known: readonly Migration[]) {
  const migration = known.find((each) => each.to === to);
  if (migration === undefined) {
    throw new StoreError("failed", `the store has format version ${to - 1}, which this build can't read any more`);
  }
  const objects = before.objects ?? 1;
  let cursor = before.migrating === undefined ? undefined : Buffer.from(before.migrating.cursor, "hex");
  if (before.migrating === undefined) {
    // From here on a build that knows the older form alone refuses the store.
    await store.commit([put({ version: to, objects, migrating: { from: to - 1, cursor: "" } })]);
  }
  for (;;) {
    const { ops, next } = migration.step(store, cursor === undefined || cursor.length === 0 ? undefined : cursor);
    const after: FormatRecord =
      next === undefined
        ? { version: to, objects: migration.objects ?? objects }
        : { version: to, objects, migrating: { from: to - 1, cursor: Buffer.from(next).toString("hex") } };
    await store.commit([...ops, put(after)]);
    if (next === undefined) return after;
    cursor = Buffer.from(next);
  }
}

function put(record: FormatRecord): WriteOp {
  return { kind: "put", key, value: Buffer.from(JSON.stringify(record)) };
}

function isEmpty(store: Store): boolean {
  for (const _ of store.keys({ limit: 1 })) return false;
  return true;
}

function newer(what: string, readable: number): StoreError {
  return new StoreError("failed", `${what}; this build reads up to ${readable}: start it with a newer build`);
}
