import type { SqlColumnInfo, SqlType } from "../../../engine/sql/type.ts";

/** The types of Arrow that this edge sends or takes. */
export type ArrowType =
  | { readonly kind: "null" | "bool" | "utf8" | "binary" | "largeUtf8" | "largeBinary" | "struct" | "list" | "map" }
  | { readonly kind: "largeList" }
  | { readonly kind: "int"; readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean }
  | { readonly kind: "float"; readonly bits: 16 | 32 | 64 }
  | { readonly kind: "decimal"; readonly width: number; readonly scale: number; readonly bits: 128 | 256 }
  | { readonly kind: "date"; readonly unit: "day" | "ms" }
  | { readonly kind: "time"; readonly unit: TimeUnit }
  | { readonly kind: "timestamp"; readonly unit: TimeUnit; readonly zone: string | undefined }
  | { readonly kind: "interval" }
  | { readonly kind: "fixedBinary"; readonly size: number }
  | { readonly kind: "fixedList"; readonly size: number }
  | { readonly kind: "denseUnion" };

export const timeUnits = ["s", "ms", "us", "ns"] as const;
export type TimeUnit = (typeof timeUnits)[number];

export interface ArrowField {
  readonly name: string;
  readonly type: ArrowType;
  readonly nullable: boolean;
  readonly children: readonly ArrowField[];
}

export function arrowField(
  name: string,
  type: ArrowType,
  { nullable = true, children = [] }: { nullable?: boolean; children?: readonly ArrowField[] } = {},
): ArrowField {
  return { name, type, nullable, children };
}

const kinds = {
  null: { kind: "null" },
  boolean: { kind: "bool" },
  int8: { kind: "int", bits: 8, signed: true },
  int16: { kind: "int", bits: 16, signed: true },
  int32: { kind: "int", bits: 32, signed: true },
  int64: { kind: "int", bits: 64, signed: true },
  uint8: { kind: "int", bits: 8, signed: false },
  uint16: { kind: "int", bits: 16, signed: false },
  uint32: { kind: "int", bits: 32, signed: false },
  uint64: { kind: "int", bits: 64, signed: false },
  // Arrow has no wider integers than 64 bits.
  int128: { kind: "decimal", width: 38, scale: 0, bits: 128 },
  uint128: { kind: "decimal", width: 39, scale: 0, bits: 256 },
  float32: { kind: "float", bits: 32 },
  float64: { kind: "float", bits: 64 },
  text: { kind: "utf8" },
  json: { kind: "utf8" },
  bytes: { kind: "binary" },
  // As text, which is what every other wire gives and what every client can show.
  uuid: { kind: "utf8" },
  enum: { kind: "utf8" },
  date: { kind: "date", unit: "day" },
  time: { kind: "time", unit: "us" },
  timestamp: { kind: "timestamp", unit: "us", zone: undefined },
  timestamptz: { kind: "timestamp", unit: "us", zone: "UTC" },
  interval: { kind: "interval" },
  struct: { kind: "struct" },
  map: { kind: "map" },
} as const satisfies Record<Exclude<SqlType["kind"], "decimal" | "list">, ArrowType>;

/** The column of a result. */
export function fieldOf({ name, type }: SqlColumnInfo): ArrowField {
  switch (type.kind) {
    case "decimal":
      return arrowField(name, { kind: "decimal", width: type.width, scale: type.scale, bits: 128 });
    case "list": {
      const children = [fieldOf({ name: "item", type: type.item })];
      const { size } = type;
      const fixed = size !== undefined && hasFixedWidth(type.item);
      return arrowField(name, fixed ? { kind: "fixedList", size } : { kind: "list" }, { children });
    }
    case "struct":
      return arrowField(name, kinds.struct, { children: type.fields.map(fieldOf) });
    case "map": {
      const key = { ...fieldOf({ name: "key", type: type.key }), nullable: false };
      const value = fieldOf({ name: "value", type: type.value });
      const entries = arrowField("entries", kinds.struct, { nullable: false, children: [key, value] });
      return arrowField(name, kinds.map, { children: [entries] });
    }
    default:
      return arrowField(name, kinds[type.kind]);
  }
}

/** A fixed-size list needs room for the items of a NULL, which only columns of one width can leave. */
function hasFixedWidth({ kind }: SqlType): boolean {
  return /^(?:u?int(?:8|16|32|64)|float32|float64|date|time|timestamp|timestamptz)$/.test(kind);
}
