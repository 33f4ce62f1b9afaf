import type { ConsistencyToken } from "./session.ts";

/** Bodies as they are on the wire, under the names that the API's documentation uses. */
export type Json = Readonly<Record<string, unknown>>;

export interface NamespaceInfo {
  readonly id: number;
  readonly name: string;
}

/** What a namespace may store and how often it may be called; null: as much as there is. */
export interface Quota {
  readonly max_bytes?: number | null;
  readonly max_requests_per_second?: number | null;
}

export interface QuotaState extends Quota {
  readonly used_bytes: number;
}

export type KeyRole = "reader" | "writer" | "admin";

export interface NewKey {
  readonly name: string;
  readonly role: KeyRole;
  /** The only namespace that the key may use. Default: all of them. */
  readonly namespace?: string;
  /** Several of them, in place of `namespace`. */
  readonly namespaces?: readonly string[];
  readonly lifetime_ms?: number;
}

export interface KeyInfo {
  readonly name: string;
  readonly id: string;
  readonly role: KeyRole;
  /** The namespace, where the key is limited to one. */
  readonly namespace: string | null;
  /** The namespaces that the key is limited to; null: all of them. */
  readonly namespaces: readonly string[] | null;
  readonly status: "live" | "expired" | "revoked";
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

export interface Retention {
  readonly max_age_ms?: number | null;
  readonly max_bytes?: number | null;
}

export interface StreamListItem {
  readonly name: string;
  readonly partitions: number;
  readonly retention?: Retention;
}

export interface PartitionInfo {
  readonly partition: number;
  readonly log_start_offset: number;
  readonly high_watermark: number;
}

export interface StreamDetail {
  readonly id: number;
  readonly partitions: readonly PartitionInfo[];
  readonly retention: Retention;
}

/** How keys and values of records are given: as they are, as UTF-8 text, or values as JSON and keys as text. */
export type RecordFormat = "bytes" | "text" | "json";

/** A record to append. Text is written as UTF-8; with the format `json` a value is anything that JSON has. */
export interface NewRecord<F extends RecordFormat = "bytes"> {
  readonly key?: string | Uint8Array | undefined;
  readonly value?: F extends "json" ? unknown : string | Uint8Array | undefined;
  readonly headers?: readonly { readonly key: string; readonly value?: string | Uint8Array | undefined }[] | undefined;
  readonly timestampMs?: number | undefined;
}

/** What is not UTF-8 stays bytes. */
type TextOf<F extends RecordFormat> = F extends "bytes" ? Uint8Array : string | Uint8Array;

export interface StoredRecord<F extends RecordFormat = "bytes"> {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: TextOf<F> | undefined;
  /** With the format `json`, bytes where the value is no JSON. */
  readonly value: F extends "json" ? unknown : TextOf<F> | undefined;
  readonly headers: readonly { readonly key: string; readonly value: TextOf<F> | undefined }[];
}

export interface AppendReply {
  readonly base_offset: number;
  readonly last_offset: number;
  readonly token: ConsistencyToken;
}

export interface RoutedAppendReply {
  readonly appends: readonly (AppendReply & { readonly partition: number })[];
  readonly token: ConsistencyToken;
}

export interface RecordPage<F extends RecordFormat = "bytes"> {
  readonly records: readonly StoredRecord<F>[];
  readonly next_offset: number;
  readonly high_watermark: number;
  readonly log_start_offset: number;
}

export interface CloudEvent {
  readonly specversion: "1.0";
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly [extension: string]: unknown;
}

export interface EventsReply {
  readonly events: readonly {
    readonly status: "appended" | "duplicate" | "in_flight";
    readonly partition: number;
    readonly offset: number;
  }[];
  readonly token: ConsistencyToken;
}

export interface EventPage {
  readonly events: readonly CloudEvent[];
  readonly next_offset: number;
  readonly high_watermark: number;
}

export interface NewLink {
  readonly name: string;
  readonly source: string;
  readonly target?: { readonly kind: string; readonly name?: string };
  readonly options?: Json;
}

export interface LinkListItem {
  readonly name: string;
  readonly source: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly status: "running" | "unregistered";
}

export interface LinkDetail extends LinkListItem {
  readonly id: number;
  readonly options: Json;
  readonly version?: number;
  readonly applied?: readonly { readonly partition: number; readonly offset: number }[];
  readonly lag: readonly { readonly partition: number; readonly records: number }[];
  readonly counters?: Readonly<Record<string, number>>;
  readonly skipped?: number;
  readonly errors?: readonly { readonly partition: number; readonly offset: number; readonly reason: string }[];
  readonly error?: string;
}

export type FieldKind =
  | "keyword"
  | "text"
  | "i64"
  | "f64"
  | "bool"
  | "date"
  | "json"
  | {
      readonly text: {
        readonly analyzer?: string;
        readonly positions?: boolean;
        readonly folding?: boolean;
        readonly revision?: number;
      };
    };

export interface SchemaField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly source_path?: string;
  readonly indexed?: boolean;
  readonly fast?: boolean;
  readonly multi?: boolean;
}

export interface CollectionSchema {
  readonly fields?: readonly SchemaField[];
  readonly vectors?: readonly {
    readonly name: string;
    readonly dim: number;
    readonly distance?: "cosine" | "dot" | "l2";
  }[];
  readonly sparse_vectors?: readonly { readonly name: string }[];
  readonly dynamic?: "ignore" | "strict" | "dynamic";
  readonly max_fields?: number;
}

export interface CollectionInfo {
  readonly id: number;
  readonly namespace: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly schema: Required<CollectionSchema>;
  readonly schema_version: number;
  readonly manifest: {
    readonly version: number;
    readonly records: number;
    readonly bytes: number;
    readonly lance: { readonly uri: string; readonly version: number } | null;
    readonly applied: number;
  };
  readonly hot: { readonly enabled: boolean; readonly state: string };
  readonly backpressure: {
    readonly throttled: boolean;
    readonly backlog_records: number;
    readonly backlog_bytes: number;
    readonly retry_after_ms: number;
  };
}

export interface CollectionVersion {
  readonly version: number;
  readonly created_at: string;
  readonly records: number;
  readonly lance: { readonly uri: string; readonly version: number } | null;
  readonly applied: number;
}

export interface Alias {
  readonly alias: string;
  readonly collection: string;
}

export type AliasAction =
  | { readonly add: { readonly alias: string; readonly collection: string } }
  | { readonly remove: { readonly alias: string } };

type Scalar = string | number | boolean;

export type Filter =
  | { readonly term: Readonly<Record<string, Scalar>> }
  | { readonly terms: Readonly<Record<string, readonly Scalar[]>> }
  | {
      readonly range: Readonly<
        Record<string, { gt?: string | number; gte?: string | number; lt?: string | number; lte?: string | number }>
      >;
    }
  | { readonly exists: { readonly field: string } }
  | { readonly prefix: Readonly<Record<string, string>> }
  | { readonly wildcard: Readonly<Record<string, string>> }
  | { readonly ids: { readonly values: readonly number[] } }
  | { readonly match: Readonly<Record<string, string>> }
  | { readonly phrase: Readonly<Record<string, string>> }
  | { readonly match_all: Readonly<Record<string, never>> }
  | { readonly and: readonly Filter[] }
  | { readonly or: readonly Filter[] }
  | { readonly not: Filter }
  | {
      readonly bool: {
        readonly must?: readonly Filter[];
        readonly should?: readonly Filter[];
        readonly must_not?: readonly Filter[];
        readonly filter?: readonly Filter[];
      };
    };

export interface SparseVector {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

interface OpTarget {
  readonly id: number;
  readonly if?: Filter;
  readonly if_version?: number;
}

interface OpDocument extends OpTarget {
  readonly source: Json;
  readonly vectors?: Readonly<Record<string, readonly number[]>>;
  readonly sparse_vectors?: Readonly<Record<string, SparseVector>>;
}

export type WriteOp =
  | { readonly upsert: OpDocument }
  | { readonly insert: OpDocument }
  | {
      readonly patch: OpTarget & {
        readonly source?: Json;
        readonly vectors?: Readonly<Record<string, readonly number[] | null>>;
        readonly sparse_vectors?: Readonly<Record<string, SparseVector | null>>;
      };
    }
  | { readonly delete: OpTarget };

export interface Backlog {
  readonly records: number;
  readonly bytes: number;
  readonly throttled: boolean;
}

export interface WriteReply {
  readonly token: ConsistencyToken;
  readonly results: readonly {
    readonly id: number;
    readonly status: "created" | "updated" | "deleted" | "noop" | "condition_failed";
    readonly version: number;
  }[];
  readonly replayed: boolean;
  readonly backlog: Backlog;
}

export interface Document {
  readonly id: number;
  readonly version: number;
  readonly source: Json;
  readonly vectors: Readonly<Record<string, readonly number[]>>;
  readonly sparse_vectors?: Readonly<Record<string, SparseVector>>;
}

export interface DocumentPage {
  readonly documents: readonly Document[];
  readonly next_cursor: string | null;
  readonly token: ConsistencyToken;
}

export interface FilterWriteReply {
  readonly matched: number;
  readonly affected: number;
  readonly partial: boolean;
  readonly next_cursor: string | null;
  readonly token: ConsistencyToken;
  readonly backlog: Backlog;
}

export interface ScanPlan {
  readonly lance: { readonly uri: string; readonly version: number } | null;
  readonly tail_records: number;
  readonly schema: CollectionSchema;
  readonly token: ConsistencyToken;
}

interface RetrieverOptions {
  readonly k?: number;
  readonly filter?: Filter;
  readonly weight?: number;
}

export type Retriever =
  | {
      readonly vector: RetrieverOptions & {
        readonly field: string;
        readonly query: readonly number[];
        readonly exact?: boolean;
        readonly ef?: number;
      };
    }
  | {
      readonly text: RetrieverOptions & {
        readonly field: string;
        readonly query: string;
        readonly operator?: "or" | "and";
      };
    }
  | { readonly sparse: RetrieverOptions & { readonly field: string; readonly query: SparseVector } };

export interface Query {
  readonly from: string;
  readonly retrieve?: readonly Retriever[];
  readonly filter?: Filter;
  readonly fuse?: { readonly method: "rrf" | "weighted"; readonly k?: number };
  readonly limit?: number;
  readonly offset?: number;
  readonly sort?: readonly { readonly field: string; readonly order?: "asc" | "desc" }[];
  readonly select?: readonly string[];
  readonly exclude?: readonly string[];
  readonly include_vectors?: boolean;
  readonly highlight?: { readonly fields: readonly string[] };
  readonly group_by?: { readonly field: string; readonly size?: number };
  readonly facets?: readonly { readonly field: string; readonly limit?: number }[];
  readonly min_score?: number;
  readonly consistency?: "strong" | "eventual";
  readonly explain?: boolean;
}

export interface QueryRow {
  readonly _id: number;
  readonly _score: number;
  readonly _highlights?: Readonly<Record<string, readonly string[]>>;
  readonly _explain?: Json;
  readonly [field: string]: unknown;
}

export interface QueryReply {
  readonly rows?: readonly QueryRow[];
  readonly groups?: readonly { readonly key: unknown; readonly rows: readonly QueryRow[] }[];
  readonly facets?: Readonly<Record<string, readonly { readonly value: unknown; readonly count: number }[]>>;
  readonly token: ConsistencyToken;
  readonly took_ms: number;
  readonly stats?: Json;
}

export interface SqlReply {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly Json[];
  readonly row_count: number;
  readonly token: ConsistencyToken;
}

export interface InstanceInfo {
  readonly instanceId: string;
  readonly name: string;
  readonly serverVersion: string;
  readonly features: Readonly<Record<string, boolean>>;
  readonly [field: string]: unknown;
}
