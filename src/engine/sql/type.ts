/** The types of a result's columns and of parameters; every wire maps from these in a file of its own. */
export type SqlType =
  | { readonly kind: ScalarKind }
  | { readonly kind: "decimal"; readonly width: number; readonly scale: number }
  | { readonly kind: "enum"; readonly values: readonly string[] }
  /** `size` when every list has the same number of items, as a vector has. */
  | { readonly kind: "list"; readonly item: SqlType; readonly size?: number }
  | { readonly kind: "struct"; readonly fields: readonly SqlColumnInfo[] }
  | { readonly kind: "map"; readonly key: SqlType; readonly value: SqlType };

export type ScalarKind =
  /** The type of a bare NULL. */
  | "null"
  | "boolean"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "int128"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "uint128"
  | "float32"
  | "float64"
  | "text"
  /** Text that holds JSON. */
  | "json"
  | "bytes"
  | "uuid"
  /** Days since 1970-01-01. */
  | "date"
  /** Microseconds since midnight. */
  | "time"
  /** Microseconds since 1970-01-01, of no time zone; `timestamptz` is an instant. */
  | "timestamp"
  | "timestamptz"
  | "interval";

export interface SqlColumnInfo {
  readonly name: string;
  readonly type: SqlType;
}
