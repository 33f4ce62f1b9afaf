/** The answers of the API, as far as the console reads them. */
export interface Namespace {
  readonly name: string;
  readonly id: number;
}

export interface Retention {
  readonly max_age_ms: number | null;
  readonly max_bytes: number | null;
}

export interface StreamItem {
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

export interface StoredRecord {
  readonly offset: number;
  readonly timestamp_ms: number;
  readonly key?: string;
  readonly value?: string;
  readonly headers?: readonly { readonly key: string; readonly value?: string }[];
}

export interface FetchPage {
  readonly records: readonly StoredRecord[];
  readonly next_offset: number;
  readonly high_watermark: number;
  readonly log_start_offset: number;
}

export interface LinkItem {
  readonly name: string;
  readonly source: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly status: string;
}

export interface LinkDetail extends LinkItem {
  readonly id: number;
  readonly options: Readonly<Record<string, unknown>>;
  readonly version?: number;
  readonly applied?: readonly { readonly partition: number; readonly offset: number }[];
  readonly lag: readonly { readonly partition: number; readonly records: number }[];
  readonly counters?: Readonly<Record<string, number>>;
  readonly skipped?: number;
  readonly lost?: number;
  readonly errors?: readonly { readonly partition: number; readonly offset: number; readonly reason: string }[];
  readonly error?: string;
}

export type FieldKind =
  | string
  | { readonly text: { readonly analyzer?: string; readonly positions?: boolean; readonly folding?: boolean } };

export interface FieldSpec {
  readonly name: string;
  readonly source_path?: string;
  readonly kind: FieldKind;
  readonly indexed?: boolean;
  readonly fast?: boolean;
}

export interface VectorSpec {
  readonly name: string;
  readonly dim: number;
  readonly distance: string;
}

export interface CollectionSchema {
  readonly fields: readonly FieldSpec[];
  readonly vectors?: readonly VectorSpec[];
  readonly sparse_vectors?: readonly { readonly name: string }[];
  readonly dynamic?: string;
  readonly max_fields?: number;
}

export interface Lance {
  readonly uri: string;
  readonly version: number;
}

export interface CollectionInfo {
  readonly id: number;
  readonly namespace: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly schema: CollectionSchema;
  readonly schema_version: number;
  readonly manifest: {
    readonly version: number;
    readonly records: number;
    readonly bytes: number;
    readonly lance: Lance | null;
    readonly applied: unknown;
  };
  readonly hot: { readonly enabled: boolean; readonly state: string };
  readonly backpressure: {
    readonly throttled: boolean;
    readonly backlog_records: number;
    readonly backlog_bytes: number;
    readonly retry_after_ms: number;
  };
}

export interface VersionItem {
  readonly version: number;
  readonly created_at: string;
  readonly records: number;
  readonly lance: Lance | null;
}

export interface StoredDocument {
  readonly id: number;
  readonly version: number;
  readonly source: Readonly<Record<string, unknown>>;
  readonly vectors: Readonly<Record<string, readonly number[]>>;
  readonly sparse_vectors?: Readonly<
    Record<string, { readonly indices: readonly number[]; readonly values: readonly number[] }>
  >;
}

export interface RetrieverExplain {
  readonly kind: string;
  readonly field: string;
  readonly rank: number | null;
  readonly score: number | null;
  readonly terms?: readonly string[];
}

export interface QueryRow {
  readonly _id: number;
  readonly _score: number;
  readonly _highlights?: Readonly<Record<string, readonly string[]>>;
  readonly _explain?: { readonly retrievers: readonly RetrieverExplain[] };
  readonly [field: string]: unknown;
}

export interface QueryStats {
  readonly segments: number;
  readonly tail_documents: number;
  readonly retrieved: readonly number[];
  readonly candidates: number;
  readonly times_ms: Readonly<Record<string, number>>;
}

export interface QueryGroup {
  readonly key: string | number | boolean;
  readonly rows: readonly QueryRow[];
}

export interface FacetCount {
  readonly value: string | number | boolean;
  readonly count: number;
}

export interface QueryAnswer {
  /** Absent where there are groups. */
  readonly rows?: readonly QueryRow[];
  readonly groups?: readonly QueryGroup[];
  readonly facets?: Readonly<Record<string, readonly FacetCount[]>>;
  readonly took_ms: number;
  readonly stats?: QueryStats;
}

export interface SqlAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly row_count: number;
}

export interface InstanceInfo {
  readonly instanceId: string;
  readonly name: string;
  readonly edition: string;
  readonly serverVersion: string;
  readonly features: Readonly<Record<string, boolean>>;
  readonly issuer?: string;
  readonly signInMethods?: readonly { readonly kind: string; readonly displayName: string }[];
}

export interface ClusterNode {
  readonly node: string;
  readonly address: string;
  readonly version: string | null;
  readonly role: string;
  readonly position: number;
  readonly lag: number;
  readonly silent_ms: number;
  readonly problem: string | null;
}

export interface ClusterInfo {
  readonly owner: string;
  readonly epoch: number;
  readonly position: number;
  readonly snapshot_position: number;
  readonly snapshot_age_ms: number;
  readonly nodes: readonly ClusterNode[];
}

/** What the caller may do, and the namespaces that it is limited to; null: all of them. */
export interface Access {
  readonly role: "reader" | "writer" | "admin";
  readonly namespaces: readonly string[] | null;
}

export interface WhoAmI {
  readonly principal: {
    readonly id: string;
    readonly kind: string;
    readonly displayName: string;
    readonly email?: string;
  };
}
