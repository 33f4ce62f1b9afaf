import type { ScalarKind, SqlType } from "../../../engine/sql/type.ts";

/** A type as a RowDescription names it. */
export interface TypeInfo {
  readonly oid: number;
  /** Bytes of a value, -1 where they vary. */
  readonly size: number;
  /** Width and scale of a numeric; -1 otherwise. */
  readonly modifier: number;
}

/** The types of this wire by name: their numbers in pg_type, that of their array, and their size. */
export const oids = {
  bool: { oid: 16, array: 1000, size: 1 },
  bytea: { oid: 17, array: 1001, size: -1 },
  char: { oid: 18, array: 1002, size: 1 },
  name: { oid: 19, array: 1003, size: 64 },
  int8: { oid: 20, array: 1016, size: 8 },
  int2: { oid: 21, array: 1005, size: 2 },
  int4: { oid: 23, array: 1007, size: 4 },
  text: { oid: 25, array: 1009, size: -1 },
  oid: { oid: 26, array: 1028, size: 4 },
  json: { oid: 114, array: 199, size: -1 },
  float4: { oid: 700, array: 1021, size: 4 },
  float8: { oid: 701, array: 1022, size: 8 },
  unknown: { oid: 705, array: 0, size: -2 },
  bpchar: { oid: 1042, array: 1014, size: -1 },
  varchar: { oid: 1043, array: 1015, size: -1 },
  date: { oid: 1082, array: 1182, size: 4 },
  time: { oid: 1083, array: 1183, size: 8 },
  timestamp: { oid: 1114, array: 1115, size: 8 },
  timestamptz: { oid: 1184, array: 1185, size: 8 },
  interval: { oid: 1186, array: 1187, size: 16 },
  timetz: { oid: 1266, array: 1270, size: 12 },
  numeric: { oid: 1700, array: 1231, size: -1 },
  uuid: { oid: 2950, array: 2951, size: 16 },
  jsonb: { oid: 3802, array: 3807, size: -1 },
  vector: { oid: 16_388, array: 16_389, size: -1 },
} as const;

export type TypeName = keyof typeof oids;

/** Types that Postgres has not become the next larger one that holds every value. */
export const scalarNames: Readonly<Record<ScalarKind, TypeName>> = {
  null: "text",
  boolean: "bool",
  int8: "int2",
  int16: "int2",
  int32: "int4",
  int64: "int8",
  int128: "numeric",
  uint8: "int2",
  uint16: "int4",
  uint32: "oid",
  uint64: "numeric",
  uint128: "numeric",
  float32: "float4",
  float64: "float8",
  text: "text",
  json: "json",
  bytes: "bytea",
  uuid: "uuid",
  date: "date",
  time: "time",
  timestamp: "timestamp",
  timestamptz: "timestamptz",
  interval: "interval",
};

/** How a type is announced to clients: an array of these where it is a list of scalars; deeper nesting is JSON. */
export function typeName(type: SqlType): { readonly name: TypeName; readonly isArray: boolean } {
  switch (type.kind) {
    case "decimal":
      return { name: "numeric", isArray: false };
    case "enum":
      return { name: "text", isArray: false };
    case "struct":
    case "map":
      return { name: "json", isArray: false };
    case "list": {
      const { kind } = type.item;
      if (kind === "list" || kind === "struct" || kind === "map") return { name: "json", isArray: false };
      return { name: typeName(type.item).name, isArray: true };
    }
    default:
      return { name: scalarNames[type.kind], isArray: false };
  }
}

export function typeInfo(type: SqlType): TypeInfo {
  const { name, isArray } = typeName(type);
  if (isArray) return { oid: oids[name].array, size: -1, modifier: -1 };
  // The widest is what sums and numerics without digits are, which say none.
  const modifier = type.kind === "decimal" && type.width < 38 ? ((type.width << 16) | type.scale) + 4 : -1;
  return { oid: oids[name].oid, size: oids[name].size, modifier };
}

const parameterKinds: Readonly<Partial<Record<TypeName, ScalarKind>>> = {
  bool: "boolean",
  bytea: "bytes",
  char: "text",
  name: "text",
  int8: "int64",
  int2: "int16",
  int4: "int32",
  text: "text",
  oid: "uint32",
  json: "json",
  float4: "float32",
  float8: "float64",
  bpchar: "text",
  varchar: "text",
  date: "date",
  time: "time",
  timestamp: "timestamp",
  timestamptz: "timestamptz",
  interval: "interval",
  uuid: "uuid",
  jsonb: "json",
};

const named = new Map<number, { readonly name: TypeName; readonly isArray: boolean }>();
for (const name of Object.keys(oids) as TypeName[]) {
  named.set(oids[name].oid, { name, isArray: false });
  if (oids[name].array !== 0) named.set(oids[name].array, { name, isArray: true });
}

/** The type that a client's number stands for; undefined for one that is not known here. */
export function nameOfOid(oid: number): { readonly name: TypeName; readonly isArray: boolean } | undefined {
  return named.get(oid);
}

/**
 * The engine's type of a parameter that the client calls `oid`; undefined where it leaves it open. A numeric has the
 * type that its value needs, so it is settled with the value.
 */
export function parameterType(oid: number): SqlType | undefined {
  const found = named.get(oid);
  if (found?.name === "vector" && !found.isArray) return { kind: "list", item: { kind: "float32" } };
  const kind = found === undefined ? undefined : parameterKinds[found.name];
  if (found === undefined || kind === undefined) return undefined;
  return found.isArray ? { kind: "list", item: { kind } } : { kind };
}
