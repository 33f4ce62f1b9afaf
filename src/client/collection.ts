import { ServiceError } from "./error.ts";
import { type CallOptions, part, randomKey, type Transport } from "./transport.ts";
import type {
  CollectionInfo,
  CollectionSchema,
  CollectionVersion,
  Document,
  DocumentPage,
  Filter,
  FilterWriteReply,
  Json,
  ScanPlan,
  SchemaField,
  WriteOp,
  WriteReply,
} from "./types.ts";

export interface ReadOptions extends CallOptions {
  /** `strong` by default: every acknowledged write is seen. */
  readonly consistency?: "strong" | "eventual";
}

export interface WriteOptions extends CallOptions {
  /** The same key again is the same write; without one the client makes its own, for its retries. */
  readonly idempotencyKey?: string;
}

export interface ScrollOptions extends ReadOptions {
  readonly filter?: Filter;
  readonly pageSize?: number;
  /** Where an earlier scroll ended. */
  readonly cursor?: string;
}

export interface FilterWriteOptions extends CallOptions {
  /** Documents of one request; the rest follows with the next. */
  readonly maxDocs?: number;
}

/** One collection of a namespace, by its name or an alias. */
export class CollectionClient {
  readonly name: string;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, namespacePath: string, name: string) {
    this.name = name;
    this.#transport = transport;
    this.#path = `${namespacePath}/collections/${part(name)}`;
  }

  info(options: CallOptions = {}): Promise<CollectionInfo> {
    return this.#transport.call({ ...options, method: "GET", path: this.#path, repeatable: true, kind: "read" });
  }

  async drop(options: CallOptions = {}): Promise<void> {
    await this.#transport.call({ ...options, method: "DELETE", path: this.#path, repeatable: false, kind: "write" });
  }

  addFields(
    fields: readonly SchemaField[],
    options: CallOptions & { readonly expectedSchemaVersion?: number } = {},
  ): Promise<{ schema: CollectionSchema; schema_version: number }> {
    const { expectedSchemaVersion, signal } = options;
    return this.#post("/fields", { fields, expected_schema_version: expectedSchemaVersion ?? null }, "write", {
      signal,
    });
  }

  async versions(options: CallOptions = {}): Promise<readonly CollectionVersion[]> {
    const path = `${this.#path}/versions`;
    const call = { ...options, method: "GET", path, repeatable: true, kind: "read" } as const;
    return (await this.#transport.call<{ versions: CollectionVersion[] }>(call)).versions;
  }

  async setHot(enabled: boolean, options: CallOptions = {}): Promise<CollectionInfo["hot"]> {
    const path = `${this.#path}/hot`;
    const call = { ...options, method: "PUT", path, body: { enabled }, repeatable: true, kind: "write" } as const;
    return (await this.#transport.call<{ hot: CollectionInfo["hot"] }>(call)).hot;
  }

  async warm(options: CallOptions = {}): Promise<void> {
    await this.#post("/warm", {}, "read", options);
  }

  scan(options: CallOptions = {}): Promise<ScanPlan> {
    return this.#post("/scan", {}, "read", options);
  }

  /** Writes a batch of documents, all or none; durable when it resolves. */
  write(ops: readonly WriteOp[], options: WriteOptions = {}): Promise<WriteReply> {
    return this.#transport.call({
      method: "POST",
      path: `${this.#path}/documents`,
      body: { ops },
      headers: { "idempotency-key": options.idempotencyKey ?? randomKey() },
      repeatable: true,
      kind: "write",
      signal: options.signal,
    });
  }

  /** One document; undefined when there is none with this id. */
  async get(id: number, options: ReadOptions = {}): Promise<Document | undefined> {
    try {
      return await this.#transport.call<Document>({
        method: "GET",
        path: `${this.#path}/documents/${part(id)}`,
        query: { consistency: options.consistency },
        repeatable: true,
        kind: "read",
        signal: options.signal,
      });
    } catch (error) {
      if (error instanceof ServiceError && error.reason === "not_found") {
        // The collection itself may be what is missing.
        await this.info(options);
        return undefined;
      }
      throw error;
    }
  }

  /** Documents in the order of the ids; undefined where there is none. */
  async getMany(ids: readonly number[], options: ReadOptions = {}): Promise<readonly (Document | undefined)[]> {
    const { documents } = await this.#post<{ documents: (Document & { found: boolean })[] }>(
      "/documents/get",
      { ids, ...consistencyOf(options) },
      "read",
      options,
    );
    return documents.map(({ found, ...document }) => (found ? document : undefined));
  }

  async count(filter?: Filter, options: ReadOptions = {}): Promise<number> {
    const body = { ...(filter === undefined ? {} : { filter }), ...consistencyOf(options) };
    return (await this.#post<{ count: number }>("/documents/count", body, "read", options)).count;
  }

  /** Documents by id, page by page, all of them as they were when the scroll began. */
  async *scroll(options: ScrollOptions = {}): AsyncGenerator<Document> {
    for await (const page of this.scrollPages(options)) yield* page.documents;
  }

  async *scrollPages(options: ScrollOptions = {}): AsyncGenerator<DocumentPage> {
    const { filter, pageSize } = options;
    let cursor: string | null = options.cursor ?? null;
    do {
      const page: DocumentPage = await this.#post(
        "/documents/scroll",
        {
          cursor,
          ...(filter === undefined ? {} : { filter }),
          ...(pageSize === undefined ? {} : { limit: pageSize }),
          ...consistencyOf(options),
        },
        "read",
        options,
      );
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** Deletes what matches; returns how many documents there were. Not repeated by itself when its outcome is unknown. */
  deleteByFilter(filter: Filter, options: FilterWriteOptions = {}): Promise<number> {
    return this.#filterWrite("/documents/delete_by_filter", { filter }, options);
  }

  /** Patches what matches as the `patch` operation does; returns how many documents there were. */
  patchByFilter(
    filter: Filter,
    patch: { readonly source?: Json; readonly vectors?: Readonly<Record<string, readonly number[] | null>> },
    options: FilterWriteOptions = {},
  ): Promise<number> {
    return this.#filterWrite("/documents/patch_by_filter", { filter, patch }, options);
  }

  async #filterWrite(route: string, body: Json, options: FilterWriteOptions): Promise<number> {
    const { maxDocs, signal } = options;
    let affected = 0;
    let cursor: string | null = null;
    do {
      const reply: FilterWriteReply = await this.#transport.call({
        method: "POST",
        path: this.#path + route,
        body: { ...body, cursor, ...(maxDocs === undefined ? {} : { max_docs: maxDocs }) },
        repeatable: false,
        kind: "write",
        signal,
      });
      affected += reply.affected;
      cursor = reply.next_cursor;
    } while (cursor !== null);
    return affected;
  }

  #post<T>(route: string, body: Json, kind: "read" | "write", { signal }: CallOptions): Promise<T> {
    const repeatable = kind === "read";
    return this.#transport.call({ method: "POST", path: this.#path + route, body, repeatable, kind, signal });
  }
}

function consistencyOf({ consistency }: ReadOptions) {
  return consistency === undefined ? {} : { consistency };
}
