import type { Catalog } from "../collection/catalog.ts";
import type { CollectionMeta } from "../collection/collection-store.ts";
import type { Documents } from "../collection/documents.ts";
import { formatSchema } from "../collection/schema-parse.ts";
import { EngineError } from "../errors.ts";
import type { Links } from "../link/links.ts";
import type { Log } from "../log/log.ts";
import type { Metastore, StreamMeta } from "../metastore/metastore.ts";
import type { TokenWaiter } from "../stream/token-waiter.ts";
import { type ConsistencyToken, mergeTokens } from "../token.ts";
import { collectionColumns, linkColumns, streamColumns } from "./columns.ts";
import { sqlFault } from "./fault.ts";
import type { CollectionTable, NamedTable, StreamTable, TableDefinition } from "./messages.ts";
import type { SqlTable } from "./sql.ts";

export interface ResolverDeps {
  readonly metastore: Metastore;
  readonly catalog: Catalog;
  readonly documents: Documents;
  readonly links: Links;
  readonly log: Log;
  readonly tokens: TokenWaiter;
}

export interface ResolvedTables {
  readonly tables: readonly TableDefinition[];
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
    token: ConsistencyToken,
    signal: AbortSignal | undefined,
  ): Promise<ResolvedTables> {
    const found = new Map<string, TableDefinition>();
    let reflected: ConsistencyToken = [];
    for (const each of named) {
      const key = `${each.schema}.${each.name.toLowerCase()}`;
      const known = found.get(key);
      if (known !== undefined && (!each.read || known.schema !== "streams" || known.offsets !== undefined)) continue;
      const { table, token: seen } = (await this.#find(namespace, each, token, signal)) ?? {};
      if (table === undefined) continue;
      found.set(key, table);
      if (seen !== undefined) reflected = mergeTokens(reflected, seen);
    }
    return { tables: [...found.values()], token: reflected };
  }

  async #find(namespace: string, named: NamedTable, token: ConsistencyToken, signal: AbortSignal | undefined) {
    try {
      switch (named.schema) {
        case "collections":
          return await this.#collection(namespace, named, token, signal);
        case "streams":
          return await this.#stream(namespace, named, token, signal);
        case "links":
          return await this.#link(namespace, named, token, signal);
      }
    } catch (error) {
      if (!(error instanceof EngineError) || error.reason !== "not_found") throw error;
      if (named.optional) return undefined;
      const { schema, name, position } = named;
      throw sqlFault("unknown_table", `there is no table ${schema}.${name} in namespace ${namespace}`, { position });
    }
  }

  async #collection(namespace: string, named: NamedTable, token: ConsistencyToken, signal: AbortSignal | undefined) {
    const name = this.#nameOf(named, this.#collectionNames(namespace));
    const { documents } = this.#deps;
    const { runtime } = await documents.reading({ namespace, collection: name }, { token, eventual: false }, signal);
    return { table: collectionTable(runtime.meta, named.name), token: documents.token(runtime) };
  }

  async #stream(namespace: string, named: NamedTable, token: ConsistencyToken, signal: AbortSignal | undefined) {
    const { metastore, log, tokens } = this.#deps;
    const owner = metastore.namespace(namespace);
    const stream = metastore.stream(
      namespace,
      this.#nameOf(named, () => names(metastore.streams(owner))),
    );
    if (!named.read) return { table: streamTable(stream, named.name) };
    await tokens.wait(stream, token, undefined, signal);
    const offsets = new Float64Array(stream.partitions * 2);
    const reflected: ConsistencyToken[number][] = [];
    for (let partition = 0; partition < stream.partitions; partition++) {
      const end = log.highWatermark(stream, partition);
      offsets[partition * 2] = log.startOffset(stream, partition);
      offsets[partition * 2 + 1] = end;
      if (end > 0) reflected.push({ stream: stream.id, partition, offset: end - 1 });
    }
    return { table: { ...streamTable(stream, named.name), offsets }, token: reflected };
  }

  async #link(namespace: string, named: NamedTable, token: ConsistencyToken, signal: AbortSignal | undefined) {
    const { links } = this.#deps;
    const name = this.#nameOf(named, () => links.list(namespace).map(({ link }) => link.name));
    const { link, source, worker } = await links.caughtUp(namespace, name, named.read ? token : [], signal);
    const table: TableDefinition = {
      schema: "links",
      name: named.name,
      id: link.id,
      counter: link.target.kind === "counter",
    };
    const reflected: ConsistencyToken[number][] = [];
    if (source !== undefined && worker !== undefined) {
      for (let partition = 0; partition < source.partitions; partition++) {
        const applied = worker.applied(partition);
        if (applied > 0) reflected.push({ stream: source.id, partition, offset: applied - 1 });
      }
    }
    return { table, token: reflected };
  }

  /** A name as it was made: as it is written, or else the one that differs by its case alone. */
  #nameOf({ name }: NamedTable, all: () => Iterable<string>): string {
    const lower = name.toLowerCase();
    let found: string | undefined;
    for (const each of all()) {
      if (each === name) return name;
      if (each.toLowerCase() === lower) found ??= each;
    }
    return found ?? name;
  }

  #collectionNames(namespace: string): () => Iterable<string> {
    const { catalog } = this.#deps;
    return () => [...names(catalog.list(namespace, "")), ...catalog.aliases(namespace).map(({ alias }) => alias)];
  }

  /** Everything there is. */
  all(namespace: string): TableDefinition[] {
    const { metastore, catalog, links } = this.#deps;
    const owner = metastore.namespace(namespace);
    const tables: TableDefinition[] = [];
    for (const meta of catalog.list(namespace, "")) tables.push(collectionTable(meta, meta.name));
    for (const { alias, collection } of catalog.aliases(namespace)) {
      tables.push(collectionTable(catalog.find(namespace, collection), alias));
    }
    for (const stream of metastore.streams(owner)) if (!stream.backing) tables.push(streamTable(stream, stream.name));
    for (const { link } of links.list(namespace)) {
      tables.push({ schema: "links", name: link.name, id: link.id, counter: link.target.kind === "counter" });
    }
    return tables;
  }

  shown(namespace: string): SqlTable[] {
    const { catalog } = this.#deps;
    return this.all(namespace).map((table): SqlTable => {
      const { schema, name } = table;
      if (schema === "streams") return { schema, name, columns: streamColumns };
      if (schema === "links") return { schema, name, columns: linkColumns };
      const columns = collectionColumns(catalog.find(namespace, table.collection).schema);
      return { schema, name, columns: columns.map(({ name, type }) => ({ name, type })) };
    });
  }
}

function* names(metas: Iterable<{ readonly name: string; readonly backing?: boolean }>): Iterable<string> {
  for (const { name, backing } of metas) if (backing !== true) yield name;
}

function collectionTable(meta: CollectionMeta, name: string): CollectionTable {
  const { id, schemaVersion, schema } = meta;
  return { schema: "collections", name, id, collection: meta.name, schemaVersion, fields: formatSchema(schema) };
}

function streamTable(stream: StreamMeta, name: string): StreamTable {
  return { schema: "streams", name, id: stream.id };
}
