import { EngineError } from "../../errors.ts";
import { sqlFault } from "../fault.ts";
import type { SqlColumnInfo, SqlType } from "../type.ts";
import { type LogicalType, lib, Type } from "./duckdb.ts";

/** A column's type as the wires know it, with what is needed to read its memory. */
export interface ColumnType {
  readonly id: number;
  readonly type: SqlType;
  /** Of a decimal or an enum: the type its items are stored as. */
  readonly stored?: number;
  /** Of a list or array, a map (one struct) or a struct. */
  readonly children: readonly ColumnType[];
}

const scalars: Readonly<Record<number, SqlType>> = {
  [Type.SQLNULL]: { kind: "null" },
  // Of a statement with a parameter whose type nothing tells; it is described, and can't be run as it is.
  [Type.INVALID]: { kind: "null" },
  [Type.BOOLEAN]: { kind: "boolean" },
  [Type.TINYINT]: { kind: "int8" },
  [Type.SMALLINT]: { kind: "int16" },
  [Type.INTEGER]: { kind: "int32" },
  [Type.INTEGER_LITERAL]: { kind: "int32" },
  [Type.BIGINT]: { kind: "int64" },
  [Type.HUGEINT]: { kind: "int128" },
  [Type.UTINYINT]: { kind: "uint8" },
  [Type.USMALLINT]: { kind: "uint16" },
  [Type.UINTEGER]: { kind: "uint32" },
  [Type.UBIGINT]: { kind: "uint64" },
  [Type.UHUGEINT]: { kind: "uint128" },
  [Type.FLOAT]: { kind: "float32" },
  [Type.DOUBLE]: { kind: "float64" },
  [Type.VARCHAR]: { kind: "text" },
  [Type.STRING_LITERAL]: { kind: "text" },
  [Type.BLOB]: { kind: "bytes" },
  [Type.UUID]: { kind: "uuid" },
  [Type.DATE]: { kind: "date" },
  [Type.TIME]: { kind: "time" },
  [Type.TIME_NS]: { kind: "time" },
  [Type.TIMESTAMP]: { kind: "timestamp" },
  [Type.TIMESTAMP_S]: { kind: "timestamp" },
  [Type.TIMESTAMP_MS]: { kind: "timestamp" },
  [Type.TIMESTAMP_NS]: { kind: "timestamp" },
  [Type.TIMESTAMP_TZ]: { kind: "timestamptz" },
  [Type.INTERVAL]: { kind: "interval" },
  // Rare, and of no type that every wire has: their text.
  [Type.BIT]: { kind: "text" },
  [Type.BIGNUM]: { kind: "text" },
  [Type.TIME_TZ]: { kind: "text" },
};

/** Of a struct: every wire tells all of them, and reads a value member by member. */
const membersMax = 10_000;

export function columnType(logical: LogicalType): ColumnType {
  const id: number = lib.get_type_id(logical);
  switch (id) {
    case Type.DECIMAL: {
      const type = { kind: "decimal", width: lib.decimal_width(logical), scale: lib.decimal_scale(logical) } as const;
      return { id, type, stored: lib.decimal_internal_type(logical), children: [] };
    }
    case Type.ENUM: {
      const values: string[] = [];
      for (let i = 0; i < lib.enum_dictionary_size(logical); i++) values.push(lib.enum_dictionary_value(logical, i));
      return { id, type: { kind: "enum", values }, stored: lib.enum_internal_type(logical), children: [] };
    }
    case Type.LIST: {
      const item = columnType(lib.list_type_child_type(logical));
      return { id, type: { kind: "list", item: item.type }, children: [item] };
    }
    case Type.ARRAY: {
      const item = columnType(lib.array_type_child_type(logical));
      const size = lib.array_type_array_size(logical);
      return { id, type: { kind: "list", item: item.type, size }, children: [item] };
    }
    case Type.STRUCT: {
      const children: ColumnType[] = [];
      const fields: SqlColumnInfo[] = [];
      const count = lib.struct_type_child_count(logical);
      if (count > membersMax) throw sqlFault("out_of_range", `a struct has more than ${membersMax} members`);
      for (let i = 0; i < count; i++) {
        const child = columnType(lib.struct_type_child_type(logical, i));
        children.push(child);
        fields.push({ name: lib.struct_type_child_name(logical, i), type: child.type });
      }
      return { id, type: { kind: "struct", fields }, children };
    }
    case Type.MAP: {
      const key = columnType(lib.map_type_key_type(logical));
      const value = columnType(lib.map_type_value_type(logical));
      const fields = [
        { name: "key", type: key.type },
        { name: "value", type: value.type },
      ];
      const entry: ColumnType = { id: Type.STRUCT, type: { kind: "struct", fields }, children: [key, value] };
      return { id, type: { kind: "map", key: key.type, value: value.type }, children: [entry] };
    }
    default: {
      const json = id === Type.VARCHAR && lib.logical_type_get_alias(logical) === "JSON";
      const type = json ? ({ kind: "json" } as const) : scalars[id];
      if (type === undefined) throw unsupported(id);
      return { id, type, children: [] };
    }
  }
}

/** The type of a parameter, where DuckDB found one out. */
export function parameterType(logical: LogicalType | undefined): SqlType | undefined {
  if (logical === undefined) return undefined;
  const id: number = lib.get_type_id(logical);
  if (id === Type.INVALID || id === Type.ANY || id === Type.SQLNULL) return undefined;
  return columnType(logical).type;
}

function unsupported(id: number): EngineError {
  const name = Object.entries(Type).find(([, value]) => value === id)?.[0] ?? String(id);
  const sql = { kind: "unsupported" };
  return new EngineError("invalid_argument", `query: a column of type ${name} can't be sent; cast it to VARCHAR`, {
    details: { field: "query", sql },
    metadata: { field: "query" },
  });
}
