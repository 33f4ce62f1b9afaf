import type { Store } from "../../port/store.ts";
import type { Catalog } from "../collection/catalog.ts";
import type { Documents } from "../collection/documents.ts";
import { EngineError, notFound } from "../errors.ts";
import type { Links } from "../link/links.ts";
import type { Log } from "../log/log.ts";
import type { Metastore, NamespaceMeta, StreamMeta } from "../metastore/metastore.ts";
import type { TokenWaiter } from "../stream/token-waiter.ts";
import { type ConsistencyToken, mergeTokens } from "../token.ts";
import type { ChangeTracker } from "./change-tracker.ts";
import type { TableSchema } from "./columns.ts";
import { collectionColumns, linkColumns, streamColumns } from "./columns.ts";
import { sqlFault } from "./fault.ts";
import { liveColumns } from "./live-columns.ts";
import type { LiveTable, NamedTable, TableDefinition } from "./messages.ts";
import { type Found, isReadByParts, joined, liveRead, type ReadRequest } from "./read-requests.ts";
import { rowsOf } from "./retrieval.ts";
import type { SqlTable } from "./sql.ts";
import { streamBounds } from "./stream-bounds.ts";
import {
  appliedBy,
  collectionTable,
  countersTable,
  linkTable,
  names,
  shownColumns,
  streamTable,
} from "./table-descriptions.ts";
import type { SqlColumnInfo } from "./type.ts";

export interface ResolverDeps {
  readonly metastore: Metastore;
  readonly catalog: Catalog;
  readonly documents: Documents;
  readonly links: Links;
  readonly log: Log;
  readonly store: Store;
  readonly tokens: TokenWaiter;
  readonly changes: ChangeTracker;
  readonly live: LiveTables;
}

/** The Live engine as SQL sees it. */
export interface LiveTables {
  /** Without their reads. */
  tables(namespace: string): readonly LiveTable[];
  /** Waits until what is read reflects the token; resolves with what it reflects. */
  reflect(namespace: string, token: ConsistencyToken, signal: AbortSignal | undefined): Promise<ConsistencyToken>;
}

export interface ResolvedTables {
  /** To be called in the same turn as the message that takes the tables to the process: it lists what changed. */
  readonly tables: () => readonly TableDefinition[];
  /** What they reflect. */
  readonly token: ConsistencyToken;
}

/** Finds what a statement's names stand for. */
export class TableResolver {
  readonly #deps: ResolverDeps;

  constructor(deps: ResolverDeps) {
    this.#deps = deps;
  }

  /** The tables that a statement names, once each of them has what the read must see. */
  async resolve(
    namespace: string,
    named: readonly NamedTable[],
    request: ReadRequest,
    signal: AbortSignal | undefined,
  ): Promise<ResolvedTables> {
    const found = new Map<string, Found>();
    let reflected: ConsistencyToken = [];
    for (const each of named) {
      const key = `${each.schema}.${each.name}`;
      const known = found.get(key);
      // One that is only described may be read elsewhere in the statement, and each read of some has its own bounds.
      if (known !== undefined && (!each.read || (known.token !== undefined && !isReadByParts(each)))) continue;
      const result = await this.#find(namespace, each, request, signal);
      if (result === undefined) continue;
      found.set(key, known === undefined ? result : joined(known, result));
      if (result.token !== undefined) reflected = mergeTokens(reflected, result.token);
    }
    // The thread reads the store by itself.
    if (named.some(({ read }) => read)) await this.#deps.store.checkpoint();
    const tables = () =>
      [...found.values()].map(({ table, delta }) => (delta === undefined ? table : { ...table, delta: delta() }));
    return { tables, token: reflected };
  }

  async #find(
    namespace: string,
    named: NamedTable,
    request: ReadRequest,
    signal: AbortSignal | undefined,
  ): Promise<Found | undefined> {
    const { token } = request;
    try {
      switch (named.schema) {
        case "collections":
          return await this.#collection(namespace, named, token, signal);
        case "streams":
          return await this.#stream(namespace, named, request, signal);
        case "links":
          return await this.#link(namespace, named, request, signal);
        case "counters":
          return await this.#counters(namespace, named, request, signal);
        case "live":
          return await this.#live(namespace, named, request, signal);
      }
    } catch (error) {
      if (!(error instanceof EngineError) || error.reason !== "not_found") throw error;
      if (named.optional) return undefined;
      const { schema, name, position } = named;
      throw sqlFault("unknown_table", `there is no table ${schema}.${name} in namespace ${namespace}`, { position });
    }
  }

  async #collection(namespace: string, named: NamedTable, token: ConsistencyToken, signal: AbortSignal | undefined) {
    const { documents, log, changes } = this.#deps;
    const collection = this.#collectionName(namespace, named.name);
    const { runtime } = await documents.reading({ namespace, collection }, { token, eventual: false }, signal);
    // Under its own name, however the statement writes it: the tables that are kept are known by it.
    const table = collectionTable(runtime.meta, collection);
    if (!named.read) return { table };
    return {
      table,
      token: documents.token(runtime),
      delta: () => changes.take(runtime, log.highWatermark(runtime.stream, 0)),
    };
  }

  async #stream(
    namespace: string,
    named: NamedTable,
    { token, params }: ReadRequest,
    signal: AbortSignal | undefined,
  ): Promise<Found> {
    const { metastore, log, tokens } = this.#deps;
    const owner = metastore.namespace(namespace);
    const stream = this.#streamOf(namespace, named.name, owner);
    if (!named.read) return { table: streamTable(stream, stream.name) };
    await tokens.wait(stream, token, undefined, signal);
    const bounds = streamBounds(named.conditions, params);
    const spans: number[] = [];
    const reflected: ConsistencyToken[number][] = [];
    for (let partition = 0; partition < stream.partitions; partition++) {
      const high = log.highWatermark(stream, partition);
      if (high > 0) reflected.push({ stream: stream.id, partition, offset: high - 1 });
      if (high === 0 || !bounds.hasPartition(partition)) continue;
      const since = bounds.fromTimestampMs === undefined ? 0 : log.seekTime(stream, partition, bounds.fromTimestampMs);
      const start = Math.max(log.startOffset(stream, partition), bounds.fromOffset, since);
      const end = Math.min(high, bounds.toOffset);
      if (start < end) spans.push(partition, start, end);
    }
    const rowsMax = bounds.isWhole ? rowsOf(named.limit, params) : undefined;
    const reads = [{ ref: named.ref, spans: Float64Array.from(spans), rowsMax }];
    return { table: { ...streamTable(stream, stream.name), reads }, token: reflected };
  }

  async #link(namespace: string, named: NamedTable, request: ReadRequest, signal: AbortSignal | undefined) {
    const { links } = this.#deps;
    const all = links.list(namespace).map(({ link }) => link.name);
    const name = sameName(named.name, all) ?? named.name;
    const found = links.find(namespace, name);
    const { link } = found;
    const table = linkTable(link);
    // Any other has no rows.
    if (named.read && table.counting.length > 0) await links.reflect(found, request, signal);
    return { table, token: appliedBy(found) };
  }

  /** What all links count whose target has the name. */
  async #counters(namespace: string, named: NamedTable, request: ReadRequest, signal: AbortSignal | undefined) {
    const { links } = this.#deps;
    const counting = links.list(namespace).filter(({ link }) => link.target.kind === "counter");
    const name =
      sameName(
        named.name,
        counting.map(({ link }) => link.target.name),
      ) ?? named.name;
    const chosen = counting.filter(({ link }) => link.target.name === name);
    if (chosen.length === 0) throw notFound(`no link counts into ${JSON.stringify(name)}`);
    let token: ConsistencyToken = [];
    for (const { link } of chosen) {
      const found = links.find(namespace, link.name);
      if (named.read) await links.reflect(found, request, signal);
      token = mergeTokens(token, appliedBy(found));
    }
    return { table: countersTable(name, chosen), token };
  }

  async #live(
    namespace: string,
    named: NamedTable,
    { token, params }: ReadRequest,
    signal: AbortSignal | undefined,
  ): Promise<Found> {
    const { live } = this.#deps;
    const all = live.tables(namespace);
    const name = sameName(named.name, names(all)) ?? named.name;
    const found = all.find((each) => each.name === name);
    if (found === undefined) throw notFound(`table ${JSON.stringify(name)} does not exist`);
    if (!named.read) return { table: found };
    const reflected = await live.reflect(namespace, token, signal);
    return { table: { ...found, reads: [liveRead(named, params)] }, token: reflected };
  }

  /** As it is written, or else the one that differs by its case alone. */
  #collectionName(namespace: string, name: string): string {
    const { catalog } = this.#deps;
    try {
      catalog.find(namespace, name);
      return name;
    } catch (error) {
      const all = [...names(catalog.list(namespace, "")), ...catalog.aliases(namespace).map(({ alias }) => alias)];
      const same = sameName(name, all);
      if (same === undefined) throw error;
      return same;
    }
  }

  #streamOf(namespace: string, name: string, owner: NamespaceMeta): StreamMeta {
    const { metastore } = this.#deps;
    try {
      return metastore.stream(namespace, name);
    } catch (error) {
      const same = sameName(name, names(metastore.streams(owner)));
      if (same === undefined) throw error;
      return metastore.stream(namespace, same);
    }
  }

  /** Everything there is. */
  all(namespace: string): TableDefinition[] {
    const { metastore, catalog, links, live } = this.#deps;
    const owner = metastore.namespace(namespace);
    const tables: TableDefinition[] = [];
    for (const meta of catalog.list(namespace, "")) tables.push(collectionTable(meta, meta.name));
    for (const { alias, collection } of catalog.aliases(namespace)) {
      tables.push(collectionTable(catalog.find(namespace, collection), alias));
    }
    for (const stream of metastore.streams(owner)) if (!stream.backing) tables.push(streamTable(stream, stream.name));
    const all = [...links.list(namespace)];
    for (const { link } of all) tables.push(linkTable(link));
    const counting = all.filter(({ link }) => link.target.kind === "counter");
    for (const [name, found] of Map.groupBy(counting, ({ link }) => link.target.name)) {
      tables.push(countersTable(name, found));
    }
    return [...tables, ...live.tables(namespace)];
  }

  columnsOf(namespace: string, schema: TableSchema, name: string): readonly SqlColumnInfo[] | undefined {
    if (schema === "streams") return streamColumns;
    if (schema === "links") return linkColumns;
    if (schema !== "collections") return undefined;
    try {
      return collectionColumns(this.#deps.catalog.find(namespace, name).schema);
    } catch (error) {
      if (EngineError.from(error).reason === "not_found") return undefined;
      throw error;
    }
  }

  shown(namespace: string): SqlTable[] {
    const { catalog } = this.#deps;
    return this.all(namespace).map((table): SqlTable => {
      const { schema, name } = table;
      if (schema === "streams") return { schema, name, columns: streamColumns };
      if (schema === "live") return { schema, name, columns: shownColumns(liveColumns(table.fields)) };
      if (table.schema !== "collections") return { schema, name, columns: linkColumns };
      const columns = collectionColumns(catalog.find(namespace, table.collection).schema);
      return { schema, name, columns: shownColumns(columns) };
    });
  }
}

function sameName(name: string, all: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  let found: string | undefined;
  for (const each of all) {
    if (each === name) return each;
    if (each.toLowerCase() === lower) found ??= each;
  }
  return found;
}
