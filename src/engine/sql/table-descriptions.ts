import type { CollectionMeta } from "../collection/collection-store.ts";
import type { LinkMeta } from "../link/link-store.ts";
import type { FoundLink, LinkView } from "../link/links.ts";
import type { StreamMeta } from "../metastore/metastore.ts";
import { formatSchema } from "../schema/schema-parse.ts";
import type { ConsistencyToken } from "../token.ts";
import type { CollectionTable, LinkTable, StreamTable } from "./messages.ts";
import type { SqlColumnInfo } from "./type.ts";

export function shownColumns(columns: readonly SqlColumnInfo[]): SqlColumnInfo[] {
  return columns.map(({ name, type }) => ({ name, type }));
}

export function* names(metas: Iterable<{ readonly name: string; readonly backing?: boolean }>): Iterable<string> {
  for (const { name, backing } of metas) if (backing !== true) yield name;
}

export function collectionTable(meta: CollectionMeta, name: string): CollectionTable {
  const { id, schemaVersion, schema, streamId } = meta;
  return {
    schema: "collections",
    name,
    id,
    collection: meta.name,
    schemaVersion,
    fields: formatSchema(schema),
    stream: streamId,
  };
}

export function linkTable({ id, name, target }: LinkMeta): LinkTable {
  return { schema: "links", name, id, counting: target.kind === "counter" ? [id] : [] };
}

export function countersTable(name: string, found: readonly LinkView[]): LinkTable {
  const counting = found.map(({ link }) => link.id);
  return { schema: "counters", name, id: counting[0]!, counting };
}

/** What a link has read of its source. */
export function appliedBy({ source, worker }: FoundLink): ConsistencyToken {
  const reflected: ConsistencyToken[number][] = [];
  if (source === undefined || worker === undefined) return reflected;
  for (let partition = 0; partition < source.partitions; partition++) {
    const applied = worker.applied(partition);
    if (applied > 0) reflected.push({ stream: source.id, partition, offset: applied - 1 });
  }
  return reflected;
}

export function streamTable(stream: StreamMeta, name: string): StreamTable {
  return { schema: "streams", name, id: stream.id, reads: [] };
}
