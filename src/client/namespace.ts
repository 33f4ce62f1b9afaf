import { CollectionClient, type ReadOptions } from "./collection.ts";
import { StreamClient } from "./stream.ts";
import { type CallOptions, part, type Transport } from "./transport.ts";
import type {
  Alias,
  AliasAction,
  CollectionInfo,
  CollectionSchema,
  LinkDetail,
  LinkListItem,
  NamespaceInfo,
  NewLink,
  Query,
  QueryReply,
  Quota,
  QuotaState,
  Retention,
  SqlReply,
  StreamListItem,
} from "./types.ts";

export interface NewStream {
  readonly name: string;
  readonly partitions?: number;
  readonly retention?: Retention;
}

/** One namespace: its streams, links and collections, and questions over them. */
export class NamespaceClient {
  readonly name: string;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, name: string) {
    this.name = name;
    this.#transport = transport;
    this.#path = `/v1/namespaces/${part(name)}`;
  }

  get(options: CallOptions = {}): Promise<NamespaceInfo> {
    return this.#get("", options);
  }

  /** Only an empty namespace can be deleted. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.#delete("", options);
  }

  quota(options: CallOptions = {}): Promise<QuotaState> {
    return this.#get("/quota", options);
  }

  /** Replaces the quota; an empty one takes all bounds away. For admins of the instance. */
  setQuota(quota: Quota, { signal }: CallOptions = {}): Promise<QuotaState> {
    const path = `${this.#path}/quota`;
    return this.#transport.call({ method: "PUT", path, body: quota, repeatable: true, kind: "write", signal });
  }

  stream(name: string): StreamClient {
    return new StreamClient(this.#transport, this.#path, name);
  }

  async streams(options: CallOptions = {}): Promise<readonly StreamListItem[]> {
    return (await this.#get<{ streams: StreamListItem[] }>("/streams", options)).streams;
  }

  createStream(stream: NewStream, options: CallOptions = {}): Promise<{ readonly id: number }> {
    return this.#post("/streams", stream, "write", false, options);
  }

  async links(options: CallOptions = {}): Promise<readonly LinkListItem[]> {
    return (await this.#get<{ links: LinkListItem[] }>("/links", options)).links;
  }

  link(name: string, options: CallOptions = {}): Promise<LinkDetail> {
    return this.#get(`/links/${part(name)}`, options);
  }

  createLink(link: NewLink, options: CallOptions = {}): Promise<{ readonly id: number }> {
    return this.#post("/links", link, "write", false, options);
  }

  async deleteLink(name: string, options: CallOptions = {}): Promise<void> {
    await this.#delete(`/links/${part(name)}`, options);
  }

  collection(name: string): CollectionClient {
    return new CollectionClient(this.#transport, this.#path, name);
  }

  /** The same name and schema again are the same collection, so that it is safe to repeat. */
  createCollection(name: string, schema: CollectionSchema, options: CallOptions = {}): Promise<CollectionInfo> {
    return this.#post("/collections", { name, schema }, "write", true, options);
  }

  async *collections(options: CallOptions & { readonly pageSize?: number } = {}): AsyncGenerator<CollectionInfo> {
    let token = "";
    do {
      const page: { collections: CollectionInfo[]; next_page_token: string } = await this.#transport.call({
        method: "GET",
        path: `${this.#path}/collections`,
        query: { page_size: options.pageSize, page_token: token === "" ? undefined : token },
        repeatable: true,
        kind: "read",
        signal: options.signal,
      });
      yield* page.collections;
      token = page.next_page_token;
    } while (token !== "");
  }

  async aliases(options: CallOptions = {}): Promise<readonly Alias[]> {
    return (await this.#get<{ aliases: Alias[] }>("/aliases", options)).aliases;
  }

  async updateAliases(actions: readonly AliasAction[], options: CallOptions = {}): Promise<readonly Alias[]> {
    return (await this.#post<{ aliases: Alias[] }>("/aliases", { actions }, "write", false, options)).aliases;
  }

  query(query: Query, options: ReadOptions = {}): Promise<QueryReply> {
    return this.#post("/query", { ...query, ...consistencyOf(options) }, "read", true, options);
  }

  /** Several queries in one request, answered in their order. */
  async queries(queries: readonly Query[], options: CallOptions = {}): Promise<readonly QueryReply[]> {
    return (await this.#post<{ results: QueryReply[] }>("/query", { queries }, "read", true, options)).results;
  }

  sql(query: string, params?: readonly unknown[], options: CallOptions = {}): Promise<SqlReply> {
    return this.#post("/sql", { query, ...(params === undefined ? {} : { params }) }, "read", true, options);
  }

  #get<T>(route: string, { signal }: CallOptions): Promise<T> {
    return this.#transport.call({ method: "GET", path: this.#path + route, repeatable: true, kind: "read", signal });
  }

  #post<T>(
    route: string,
    body: unknown,
    kind: "read" | "write",
    repeatable: boolean,
    { signal }: CallOptions,
  ): Promise<T> {
    return this.#transport.call({ method: "POST", path: this.#path + route, body, repeatable, kind, signal });
  }

  async #delete(route: string, { signal }: CallOptions): Promise<void> {
    const path = this.#path + route;
    await this.#transport.call({ method: "DELETE", path, repeatable: false, kind: "write", signal });
  }
}

function consistencyOf({ consistency }: ReadOptions) {
  return consistency === undefined ? {} : { consistency };
}
