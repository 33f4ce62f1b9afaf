/** `@native-engine/client/langchain`: a collection as a vector store of LangChain.js. Needs `@langchain/core`. */
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { maximalMarginalRelevance } from "@langchain/core/utils/math";
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from "@langchain/core/vectorstores";
import {
  Client,
  type CollectionClient,
  type FieldKind,
  type Filter,
  type NamespaceClient,
  type QueryRow,
  type Retriever,
} from "../../src/client/index.ts";

type Scalar = string | number | boolean;

/** A filter of the query API, or values that fields of the metadata must have. */
export type MetadataFilter = Filter | Readonly<Record<string, Scalar>>;

export interface NativeEngineStoreOptions {
  /** A client, or the address of the server. */
  readonly client: Client | string;
  readonly namespace: string;
  /** Created with the first documents. */
  readonly collection: string;
  /** Fields of the metadata that filters name, with their kinds. All metadata are kept, whether named here or not. */
  readonly metadataFields?: Readonly<Record<string, FieldKind>>;
  readonly distance?: "cosine" | "dot" | "l2";
  /** Of the text index. */
  readonly analyzer?: string;
  /** Searches by text, too, and fuses both rankings. */
  readonly hybrid?: boolean;
}

/** Documents of one write: with large vectors still far below the largest body that the server takes. */
const batchDocuments = 200;
const filterKinds = new Set(
  "term terms range exists prefix wildcard ids match phrase match_all and or not bool".split(" "),
);

export class NativeEngineVectorStore extends VectorStore {
  declare FilterType: MetadataFilter;
  readonly #options: NativeEngineStoreOptions;
  readonly #namespace: NamespaceClient;
  readonly #collection: CollectionClient;
  #created: Promise<unknown> | undefined;

  constructor(embeddings: EmbeddingsInterface, options: NativeEngineStoreOptions) {
    super(embeddings, {});
    const client = typeof options.client === "string" ? new Client(options.client) : options.client;
    this.#options = options;
    this.#namespace = client.namespace(options.namespace);
    this.#collection = this.#namespace.collection(options.collection);
  }

  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    options: NativeEngineStoreOptions,
  ): Promise<NativeEngineVectorStore> {
    const metadataOf = (at: number) => (Array.isArray(metadatas) ? metadatas[at] : metadatas);
    const documents = texts.map((pageContent, at) => new Document({ pageContent, metadata: metadataOf(at) }));
    return await NativeEngineVectorStore.fromDocuments(documents, embeddings, options);
  }

  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    options: NativeEngineStoreOptions,
  ): Promise<NativeEngineVectorStore> {
    const store = new NativeEngineVectorStore(embeddings, options);
    await store.addDocuments(documents);
    return store;
  }

  _vectorstoreType(): string {
    return "native-engine";
  }

  async addDocuments(documents: DocumentInterface[], options: { ids?: string[] } = {}): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    return await this.addVectors(vectors, documents, options);
  }

  /** Documents with the ids of earlier ones replace them. */
  async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { ids?: string[] } = {},
  ): Promise<string[]> {
    const [first] = vectors;
    if (first === undefined) return [];
    await this.#create(first.length);
    const keys = documents.map(({ id }, at) => options.ids?.[at] ?? id ?? crypto.randomUUID());
    const ops = await Promise.all(
      documents.map(async ({ pageContent, metadata }, at) => ({
        upsert: {
          id: await idOf(keys[at]!),
          source: { key: keys[at], text: pageContent, metadata },
          vectors: { embedding: vectors[at]! },
        },
      })),
    );
    for (let at = 0; at < ops.length; at += batchDocuments) {
      await this.#collection.write(ops.slice(at, at + batchDocuments));
    }
    return keys;
  }

  override async delete({ ids, filter }: { ids?: string[]; filter?: MetadataFilter }): Promise<void> {
    if (ids !== undefined) {
      const deletes = await Promise.all(ids.map(async (key) => ({ delete: { id: await idOf(key) } })));
      for (let at = 0; at < deletes.length; at += batchDocuments) {
        await this.#collection.write(deletes.slice(at, at + batchDocuments));
      }
    }
    if (filter !== undefined) await this.#collection.deleteByFilter(filterOf(filter));
  }

  async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: MetadataFilter,
  ): Promise<[DocumentInterface, number][]> {
    const rows = await this.#search([vectorRetriever(query, k)], k, filter);
    return rows.map((row) => [documentOf(row), row._score]);
  }

  override async similaritySearch(query: string, k = 4, filter?: MetadataFilter): Promise<DocumentInterface[]> {
    return (await this.similaritySearchWithScore(query, k, filter)).map(([document]) => document);
  }

  override async similaritySearchWithScore(
    query: string,
    k = 4,
    filter?: MetadataFilter,
  ): Promise<[DocumentInterface, number][]> {
    const retrieve: Retriever[] = [vectorRetriever(await this.embeddings.embedQuery(query), k)];
    if (this.#options.hybrid) retrieve.push({ text: { field: "text", query, k } });
    const rows = await this.#search(retrieve, k, filter);
    return rows.map((row) => [documentOf(row), row._score]);
  }

  override async maxMarginalRelevanceSearch(
    query: string,
    { k, fetchK = 20, lambda = 0.5, filter }: MaxMarginalRelevanceSearchOptions<MetadataFilter>,
  ): Promise<DocumentInterface[]> {
    const vector = await this.embeddings.embedQuery(query);
    const rows = await this.#search([vectorRetriever(vector, fetchK)], fetchK, filter, true);
    const vectors = rows.map((row) => row["embedding"] as number[]);
    return maximalMarginalRelevance(vector, vectors, lambda, k).map((at) => documentOf(rows[at]!));
  }

  async #search(
    retrieve: readonly Retriever[],
    limit: number,
    filter: MetadataFilter | undefined,
    includeVectors = false,
  ): Promise<readonly QueryRow[]> {
    const { rows } = await this.#namespace.query({
      from: this.#options.collection,
      retrieve,
      limit,
      select: ["key", "text", "metadata", ...(includeVectors ? ["embedding"] : [])],
      ...(filter === undefined ? {} : { filter: filterOf(filter) }),
    });
    return rows ?? [];
  }

  async #create(dim: number): Promise<void> {
    const { collection, metadataFields = {}, distance = "cosine", analyzer = "standard" } = this.#options;
    this.#created ??= this.#namespace.createCollection(collection, {
      fields: [
        { name: "key", kind: "keyword" },
        { name: "text", kind: { text: { analyzer, positions: true } } },
        { name: "metadata", kind: "json", indexed: false },
        ...Object.entries(metadataFields).map(([name, kind]) => ({ name, kind, source_path: `metadata.${name}` })),
      ],
      vectors: [{ name: "embedding", dim, distance }],
    });
    try {
      await this.#created;
    } catch (error) {
      this.#created = undefined;
      throw error;
    }
  }
}

function vectorRetriever(query: number[], k: number): Retriever {
  return { vector: { field: "embedding", query, k } };
}

function documentOf(row: QueryRow): DocumentInterface {
  const { key, text, metadata } = row as unknown as { key: string; text: string; metadata?: Record<string, unknown> };
  return new Document({ id: key, pageContent: text, metadata: metadata ?? {} });
}

function filterOf(given: MetadataFilter): Filter {
  const entries = Object.entries(given) as [string, unknown][];
  const [first] = entries;
  if (entries.length === 1 && filterKinds.has(first![0]) && typeof first![1] === "object") return given as Filter;
  return { and: entries.map(([field, value]) => ({ term: { [field]: value as Scalar } })) };
}

/** The service's ids are whole numbers: 53 bits of the digest of the text that LangChain uses. The text is kept as `key`. */
async function idOf(key: string): Promise<number> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const view = new DataView(digest);
  return (view.getUint32(0) >>> 11) * 2 ** 32 + view.getUint32(4);
}
