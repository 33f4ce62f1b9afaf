import type { Cell } from "./arrow/rows.ts";
import { type ArrowField, arrowField } from "./arrow/type.ts";

/** The types of SQL by their codes in ODBC and JDBC, as GetXdbcTypeInfo tells them. */

const text = { kind: "utf8" } as const;
const int = { kind: "int", bits: 32, signed: true } as const;
const bool = { kind: "bool" } as const;
const required = { nullable: false };

export const typeInfoFields: readonly ArrowField[] = [
  arrowField("type_name", text, required),
  arrowField("data_type", int, required),
  arrowField("column_size", int),
  arrowField("literal_prefix", text),
  arrowField("literal_suffix", text),
  arrowField("create_params", { kind: "list" }, { children: [arrowField("item", text, required)] }),
  arrowField("nullable", int, required),
  arrowField("case_sensitive", bool, required),
  arrowField("searchable", int, required),
  arrowField("unsigned_attribute", bool),
  arrowField("fixed_prec_scale", bool, required),
  arrowField("auto_increment", bool),
  arrowField("local_type_name", text),
  arrowField("minimum_scale", int),
  arrowField("maximum_scale", int),
  arrowField("sql_data_type", int, required),
  arrowField("datetime_subcode", int),
  arrowField("num_prec_radix", int),
  arrowField("interval_precision", int),
];

interface TypeInfo {
  readonly code: number;
  readonly size: number | null;
  readonly quote?: string;
  readonly parameters?: readonly string[];
  readonly unsigned?: boolean;
  readonly radix?: number;
  readonly scaleMax?: number;
  /** Dates and times share a code of SQL, and differ by this. */
  readonly subcode?: number;
}

const types: Readonly<Record<string, TypeInfo>> = {
  BOOLEAN: { code: -7, size: 1 },
  TINYINT: { code: -6, size: 3, unsigned: false, radix: 10 },
  UTINYINT: { code: -6, size: 3, unsigned: true, radix: 10 },
  BIGINT: { code: -5, size: 19, unsigned: false, radix: 10 },
  UBIGINT: { code: -5, size: 20, unsigned: true, radix: 10 },
  BLOB: { code: -4, size: null, quote: "'" },
  VARCHAR: { code: 12, size: null, quote: "'" },
  JSON: { code: 12, size: null, quote: "'" },
  UUID: { code: 12, size: 36, quote: "'" },
  DECIMAL: { code: 3, size: 38, unsigned: false, radix: 10, scaleMax: 38, parameters: ["precision", "scale"] },
  HUGEINT: { code: 3, size: 38, unsigned: false, radix: 10, scaleMax: 0 },
  INTEGER: { code: 4, size: 10, unsigned: false, radix: 10 },
  UINTEGER: { code: 4, size: 10, unsigned: true, radix: 10 },
  SMALLINT: { code: 5, size: 5, unsigned: false, radix: 10 },
  USMALLINT: { code: 5, size: 5, unsigned: true, radix: 10 },
  FLOAT: { code: 7, size: 24, unsigned: false, radix: 2 },
  DOUBLE: { code: 8, size: 53, unsigned: false, radix: 2 },
  DATE: { code: 91, size: 10, quote: "'", subcode: 1 },
  TIME: { code: 92, size: 15, quote: "'", subcode: 2, scaleMax: 6 },
  TIMESTAMP: { code: 93, size: 26, quote: "'", subcode: 3, scaleMax: 6 },
};

const datetime = 9;
const nullable = 1;
const searchable = 3;

export function typeInfoRows(dataType: number | undefined): Cell[][] {
  return Object.entries(types)
    .filter(([, { code }]) => dataType === undefined || code === dataType)
    .sort(([, a], [, b]) => a.code - b.code)
    .map(([name, info]) => rowOf(name, info));
}

function rowOf(name: string, info: TypeInfo): Cell[] {
  const { code, size, parameters = null, unsigned = null, radix = null, scaleMax = null, subcode = null } = info;
  const quote = info.quote ?? null;
  return [
    name,
    code,
    size,
    quote,
    quote,
    parameters,
    nullable,
    quote !== null && code === 12,
    searchable,
    unsigned,
    false,
    false,
    name,
    scaleMax === null ? null : 0,
    scaleMax,
    subcode === null ? code : datetime,
    subcode,
    radix,
    null,
  ];
}
