import type { SqlType } from "../../engine/sql/type.ts";
import { utf8mb4 } from "./handshake.ts";

/** The column types of the protocol. */
export const fieldType = {
  decimal: 0,
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  null: 6,
  timestamp: 7,
  longlong: 8,
  int24: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  varchar: 15,
  bit: 16,
  json: 245,
  newDecimal: 246,
  enum: 247,
  set: 248,
  tinyBlob: 249,
  mediumBlob: 250,
  longBlob: 251,
  blob: 252,
  varString: 253,
  string: 254,
  geometry: 255,
} as const;

export const fieldFlag = {
  notNull: 0x0001,
  primaryKey: 0x0002,
  blob: 0x0010,
  unsigned: 0x0020,
  binary: 0x0080,
} as const;

const binaryCharset = 63;
/** "As many as it takes", as MySQL says it of floats. */
const anyDecimals = 31;
const utf8BytesMax = 4;

/** How a type of the engine looks to a client, on the wire and in `SHOW COLUMNS`. */
export interface MysqlType {
  readonly code: number;
  readonly charset: number;
  /** Characters at most, in bytes; tools lay out their columns by it. */
  readonly length: number;
  readonly flags: number;
  readonly decimals: number;
  /** The type in MySQL's own words. */
  readonly name: string;
}

function numeric(code: number, length: number, name: string, unsigned = false, decimals = 0): MysqlType {
  // No BINARY flag: by it Connector/J takes a TINYINT(1) for bytes.
  const flags = unsigned ? fieldFlag.unsigned : 0;
  return { code, charset: binaryCharset, length, flags, decimals, name: unsigned ? `${name} unsigned` : name };
}

function text(characters: number, name: string): MysqlType {
  const { varString } = fieldType;
  return { code: varString, charset: utf8mb4, length: characters * utf8BytesMax, flags: 0, decimals: 0, name };
}

const json: MysqlType = {
  code: fieldType.json,
  charset: binaryCharset,
  length: 0xff_ff_ff_ff,
  flags: fieldFlag.blob | fieldFlag.binary,
  decimals: 0,
  name: "json",
};

const scalars: Readonly<Record<Exclude<SqlType["kind"], "decimal" | "enum" | "list" | "struct" | "map">, MysqlType>> = {
  null: numeric(fieldType.null, 0, "null"),
  boolean: numeric(fieldType.tiny, 1, "tinyint(1)"),
  int8: numeric(fieldType.tiny, 4, "tinyint"),
  int16: numeric(fieldType.short, 6, "smallint"),
  int32: numeric(fieldType.long, 11, "int"),
  int64: numeric(fieldType.longlong, 20, "bigint"),
  uint8: numeric(fieldType.tiny, 3, "tinyint", true),
  uint16: numeric(fieldType.short, 5, "smallint", true),
  uint32: numeric(fieldType.long, 10, "int", true),
  uint64: numeric(fieldType.longlong, 20, "bigint", true),
  // As MySQL answers a sum of integers: no integer type of the protocol is as wide.
  int128: numeric(fieldType.newDecimal, 40, "decimal(39,0)"),
  uint128: numeric(fieldType.newDecimal, 39, "decimal(39,0)", true),
  float32: numeric(fieldType.float, 12, "float", false, anyDecimals),
  float64: numeric(fieldType.double, 22, "double", false, anyDecimals),
  text: text(65_535, "text"),
  json,
  bytes: {
    code: fieldType.blob,
    charset: binaryCharset,
    length: 0xff_ff_ff_ff,
    flags: fieldFlag.blob | fieldFlag.binary,
    decimals: 0,
    name: "longblob",
  },
  uuid: text(36, "char(36)"),
  date: numeric(fieldType.date, 10, "date"),
  time: numeric(fieldType.time, 15, "time(6)", false, 6),
  timestamp: numeric(fieldType.datetime, 26, "datetime(6)", false, 6),
  timestamptz: numeric(fieldType.timestamp, 26, "timestamp(6)", false, 6),
  interval: text(64, "varchar(64)"),
};

export function mysqlType(type: SqlType): MysqlType {
  switch (type.kind) {
    case "decimal":
      return numeric(
        fieldType.newDecimal,
        // The sign and the point.
        type.width + 2,
        `decimal(${type.width},${type.scale})`,
        false,
        type.scale,
      );
    case "enum":
      return text(Math.max(1, ...type.values.map((value) => value.length)), `varchar(255)`);
    case "list":
    case "struct":
    case "map":
      return json;
    default:
      return scalars[type.kind];
  }
}
