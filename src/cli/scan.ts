import { decodeCollection, type Manifest } from "../engine/collection/collection-store.ts";
import { openStored } from "../engine/collection/document-codec.ts";
import { ObjectSegmentLoader } from "../engine/collection/index/segment-loader.ts";
import { formatVersion, objectsVersion, readFormat } from "../engine/format.ts";
import { prefixRange, tables } from "../engine/keys.ts";
import { BatchCursor } from "../engine/log/record-batch.ts";
import { decode, openValue } from "../engine/stored-value.ts";
import { nextTurn } from "../port/next-turn.ts";
import type { ObjectStore } from "../port/object-store.ts";
import type { Store } from "../port/store.ts";

/** One thing that was looked at. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "bad";
  readonly detail: string;
}

/** Entries looked at between two turns of the event loop. */
const turnEntries = 1_000;
/** The first problems are listed; the others are counted. */
const shownMax = 5;

type Check = (key: Uint8Array, value: Uint8Array) => void;

/** Tables whose every value carries a checksum, each with how it is verified. */
const checks: readonly (readonly [string, number, Check])[] = [
  ["record batches", tables.log, (key, value) => void new BatchCursor(key, value)],
  ["documents", tables.document, (key, value) => void openStored(key, value)],
  ["namespaces", tables.namespace, (_, value) => void decode(value)],
  ["streams", tables.stream, (_, value) => void decode(value)],
  ["links", tables.link, (_, value) => void decode(value)],
  ["collections", tables.collection, (_, value) => void decodeCollection(0, "", "", value)],
  ["collection totals", tables.collectionTotals, (_, value) => void openValue(value)],
  ["manifests", tables.manifest, (_, value) => void decode(value)],
];

/** Reads everything that has a checksum, and every object that a manifest names. */
export async function* scanData(store: Store, objects: ObjectStore, signal: AbortSignal): AsyncGenerator<Finding> {
  yield formatFinding(store);
  for (const [check, table, verify] of checks) {
    const range = prefixRange(table as (typeof tables)[keyof typeof tables]);
    let looked = 0;
    const wrong: string[] = [];
    for (const { key, value } of store.range(range)) {
      try {
        verify(key, value);
      } catch (error) {
        wrong.push(`${Buffer.from(key).toString("hex")}: ${(error as Error).message}`);
      }
      if (++looked % turnEntries !== 0) continue;
      await nextTurn();
      signal.throwIfAborted();
    }
    yield finding(check, looked, wrong, "restore the data from a backup");
  }
  yield await objectsFinding(store, objects, signal);
}

function finding(check: string, looked: number, wrong: readonly string[], help: string): Finding {
  if (wrong.length === 0) return { check, state: "ok", detail: `${looked} read, every checksum right` };
  const more = wrong.length > shownMax ? `, and ${wrong.length - shownMax} more` : "";
  const detail = `${wrong.length} of ${looked} damaged: ${wrong.slice(0, shownMax).join("; ")}${more}; ${help}`;
  return { check, state: "bad", detail };
}

function formatFinding(store: Store): Finding {
  const check = "format version";
  let found: ReturnType<typeof readFormat>;
  try {
    found = readFormat(store);
  } catch (error) {
    return { check, state: "bad", detail: (error as Error).message };
  }
  if (found === undefined) return { check, state: "warning", detail: "the store is empty" };
  const { version, objects = 1, migrating } = found;
  if (version > formatVersion || objects > objectsVersion) {
    const readable = `this build reads up to ${formatVersion} and ${objectsVersion}: use a newer build`;
    return { check, state: "bad", detail: `${version}, of objects ${objects}; ${readable}` };
  }
  if (migrating !== undefined) {
    return { check, state: "warning", detail: `on its way from ${migrating.from} to ${version}: start the server` };
  }
  if (version < formatVersion) {
    return { check, state: "ok", detail: `${version}; the next start brings it to ${formatVersion}` };
  }
  return { check, state: "ok", detail: String(version) };
}

async function objectsFinding(store: Store, objects: ObjectStore, signal: AbortSignal): Promise<Finding> {
  const loader = new ObjectSegmentLoader(objects);
  const newest = new Map<string, Manifest>();
  for (const { key, value } of store.range(prefixRange(tables.manifest))) {
    try {
      newest.set(Buffer.from(key).toString("latin1", 0, 9), decode<Manifest>(value));
    } catch {
      // Told of already.
    }
  }
  let looked = 0;
  const wrong: string[] = [];
  for (const { segments, lance } of newest.values()) {
    for (const entry of segments) {
      signal.throwIfAborted();
      looked++;
      try {
        await loader.segment(entry);
        await loader.deletes(entry);
      } catch (error) {
        wrong.push(`${entry.path}: ${(error as Error).message}`);
      }
      for (const path of Object.values(entry.graphs)) {
        looked++;
        if ((await objects.list(path)).length === 0) wrong.push(`${path}: it is missing`);
      }
    }
    if (lance === null) continue;
    looked++;
    if ((await objects.list(`${lance.path}/_versions/`)).length === 0) wrong.push(`${lance.path}: it has no version`);
  }
  const found = finding("objects that manifests name", looked, wrong, "they are made anew by `doctor --rebuild`");
  // The documents hold all that they do.
  return found.state === "bad" ? { ...found, state: "warning" } : found;
}
