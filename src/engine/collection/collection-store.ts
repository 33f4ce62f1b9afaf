import type { Reader } from "../../port/store.ts";
import type { GraphQuality } from "../../port/vector-graph.ts";
import { makeKey, prefixRange, readU64, tables, writeU64 } from "../keys.ts";
import { analyzerRevision } from "../schema/analysis/analyzer.ts";
import type { Schema } from "../schema/schema.ts";
import { formatSchema, readSchema, withFormerAnalyzers } from "../schema/schema-parse.ts";
import { decode, encode, openValue, sealInPlace, sumBytes } from "../stored-value.ts";

/** A collection as its namespace knows it. */
export interface CollectionMeta {
  readonly id: number;
  readonly namespaceId: number;
  readonly namespace: string;
  readonly name: string;
  /** The log of its writes. */
  readonly streamId: number;
  readonly schema: Schema;
  /** Grows by one with each change of the schema. */
  readonly schemaVersion: number;
  /**
   * The schema's version when fields were last added by hand: documents that were indexed before it may have values
   * for them. Inferred fields are none of these, since no document before had a value at their path.
   */
  readonly fillVersion: number;
  readonly hot: boolean;
}

/** Counted in the commit of each write. */
export interface CollectionTotals {
  /** Document changes ever logged, and their bytes. */
  readonly changes: number;
  readonly bytes: number;
  /** Documents there are. */
  readonly documents: number;
}

/** What they take in the store. */
export const totalsBytes = sumBytes + 24;

export const noTotals: CollectionTotals = { changes: 0, bytes: 0, documents: 0 };

export interface SegmentEntry {
  readonly id: string;
  readonly documents: number;
  readonly bytes: number;
  /** Documents deleted as of the manifest; their bitmap is an object of its own. */
  readonly deleted: number;
  readonly deletesPath: string | null;
  readonly path: string;
  /** Vector graphs by field, where the segment has one. */
  readonly graphs: Readonly<Record<string, string>>;
  /** What was measured of them, unless an earlier build made them. */
  readonly graphQuality?: Readonly<Record<string, GraphQuality>>;
  readonly schemaVersion: number;
}

/** Which immutable parts make up the collection up to an offset of its log. */
export interface Manifest {
  readonly version: number;
  readonly createdAtMs: number;
  /** The next offset of the log that no part holds yet. */
  readonly applied: number;
  /** The totals as of `applied`, to tell the backlog. */
  readonly totals: CollectionTotals;
  readonly segments: readonly SegmentEntry[];
  readonly lance: { readonly path: string; readonly version: number } | null;
}

export const emptyManifest: Manifest = {
  version: 0,
  createdAtMs: 0,
  applied: 0,
  totals: noTotals,
  segments: [],
  lance: null,
};

/** The documents that a manifest's segments hold. */
export function manifestRecords({ segments }: Manifest): number {
  return segments.reduce((sum, { documents, deleted }) => sum + documents - deleted, 0);
}

export function manifestBytes({ segments }: Manifest): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}

type StoredCollection = Pick<CollectionMeta, "id" | "streamId" | "schemaVersion" | "fillVersion" | "hot"> & {
  schema: unknown;
  /** Absent in collections from before stemmers were versioned. */
  analysis?: number;
};

export function collectionKey(namespaceId: number, name: string): Buffer {
  return makeKey(tables.collection, namespaceId, name);
}

export function encodeCollection({ id, streamId, schema, schemaVersion, fillVersion, hot }: CollectionMeta): Buffer {
  return encode({
    id,
    streamId,
    schemaVersion,
    fillVersion,
    hot,
    schema: formatSchema(schema),
    analysis: analyzerRevision,
  } satisfies StoredCollection);
}

export function decodeCollection(
  namespaceId: number,
  namespace: string,
  name: string,
  bytes: Uint8Array,
): CollectionMeta {
  const { schema, analysis, ...stored } = decode<StoredCollection>(bytes);
  const read = readSchema(schema);
  const current = analysis === undefined ? withFormerAnalyzers(read) : read;
  return { ...stored, namespaceId, namespace, name, schema: current };
}

export function aliasKey(namespaceId: number, alias: string): Buffer {
  return makeKey(tables.alias, namespaceId, alias);
}

/** Of the hot path, so written out. */
export function documentKey(collectionId: number, documentId: number): Buffer {
  const key = Buffer.allocUnsafe(17);
  key[0] = tables.document;
  writeU64(key, 1, collectionId);
  writeU64(key, 9, documentId);
  return key;
}

export function documentIdOf(key: Uint8Array): number {
  return readU64(key, 9);
}

export function collectionTotalsKey(collectionId: number): Buffer {
  return makeKey(tables.collectionTotals, collectionId);
}

export function readCollectionTotals(reader: Pick<Reader, "get">, collectionId: number): CollectionTotals {
  const stored = reader.get(collectionTotalsKey(collectionId));
  if (stored === undefined) return noTotals;
  const bytes = openValue(stored);
  return { changes: bytes.readDoubleLE(0), bytes: bytes.readDoubleLE(8), documents: bytes.readDoubleLE(16) };
}

/** Writes totals as they are stored, over `totalsBytes` bytes. */
export function writeCollectionTotals(stored: Buffer, totals: CollectionTotals): Buffer {
  stored.writeDoubleLE(totals.changes, sumBytes);
  stored.writeDoubleLE(totals.bytes, sumBytes + 8);
  stored.writeDoubleLE(totals.documents, sumBytes + 16);
  return sealInPlace(stored);
}

/** The newest manifest, or the empty one. */
export function readManifest(reader: Pick<Reader, "range">, collectionId: number): Manifest {
  const range = { ...prefixRange(tables.manifest, collectionId), reverse: true, limit: 1 };
  for (const { value } of reader.range(range)) return decode<Manifest>(value);
  return emptyManifest;
}

/** Every retained manifest, oldest first. */
export function readManifests(reader: Pick<Reader, "range">, collectionId: number): Manifest[] {
  return [...reader.range(prefixRange(tables.manifest, collectionId))].map(({ value }) => decode<Manifest>(value));
}

export function manifestKey(collectionId: number, version: number): Buffer {
  return makeKey(tables.manifest, collectionId, version);
}

export function encodeManifest(manifest: Manifest): Buffer {
  return encode(manifest);
}
