import type { ArrowArray } from "./arrow/array.ts";
import { cellsArray, intsOf } from "./arrow/rows.ts";
import { type ArrowField, arrowField } from "./arrow/type.ts";

/** What GetSqlInfo tells, by the numbers that Flight SQL gives each fact. */
type Info = string | boolean | number | { readonly int32: number } | readonly string[] | { readonly convert: true };

const caseInsensitive = { int32: 1 };
const nullsAtEnd = { int32: 3 };

const versionId = 1;

const infos: readonly (readonly [id: number, info: Info])[] = [
  // The server.
  [0, "native-engine"],
  [versionId, ""],
  [2, "18.1.0"],
  [3, true],
  [4, true],
  [5, false],
  // No transactions.
  [8, { int32: 0 }],
  [9, true],
  [10, false],
  [11, false],
  // Catalogs, schemas and tables can't be made by SQL.
  [500, false],
  [501, false],
  [502, false],
  [503, caseInsensitive],
  [504, '"'],
  [505, caseInsensitive],
  [506, true],
  [507, nullsAtEnd],
  [
    508,
    ["ANTI", "ASOF", "ATTACH", "EXCLUDE", "ILIKE", "LATERAL", "PIVOT", "POSITIONAL", "QUALIFY", "SEMI", "SUMMARIZE"],
  ],
  [509, ["abs", "ceil", "exp", "floor", "ln", "log10", "mod", "pi", "power", "round", "sign", "sqrt", "trunc"]],
  [510, ["concat", "left", "length", "lower", "ltrim", "replace", "right", "rtrim", "substring", "trim", "upper"]],
  [511, ["coalesce", "ifnull", "nullif"]],
  [512, ["current_date", "date_diff", "date_part", "date_trunc", "now", "strftime", "year", "month", "day"]],
  [513, "\\"],
  [514, ""],
  [515, true],
  [516, true],
  [517, { convert: true }],
  [518, true],
  [519, false],
  [520, true],
  [521, true],
  // Also by columns that are not selected, and by others besides.
  [522, { int32: 3 }],
  [523, true],
  [524, true],
  // Grammar: core.
  [525, { int32: 2 }],
  [526, { int32: 1 }],
  [527, false],
  // Outer joins: all.
  [528, { int32: 3 }],
  [529, "schema"],
  [530, "procedure"],
  [531, "namespace"],
  [532, true],
  [533, { int32: 0 }],
  [534, { int32: 0 }],
  [535, { int32: 0 }],
  [536, false],
  [537, false],
  // Subqueries: in comparisons, EXISTS, IN and quantified.
  [538, { int32: 15 }],
  [539, true],
  // UNION and UNION ALL.
  [540, { int32: 3 }],
  // Lengths and counts; 0 where there is no limit of its own.
  ...Array.from({ length: 15 }, (_, i) => [541 + i, 0] as const),
  [556, true],
  [557, 1024 * 1024],
  [558, 0],
  [559, 128],
  [560, 0],
  [561, 0],
  // No isolation; a number of 64 bits, as the JDBC driver reads it.
  [562, 0],
  [563, false],
  [564, { int32: 0 }],
  [565, false],
  [566, true],
  // Results are read forwards and can't be changed.
  [567, { int32: 1 }],
  [568, { int32: 1 }],
  [569, { int32: 0 }],
  [570, { int32: 0 }],
  [571, { int32: 0 }],
  [572, false],
  [573, false],
  [574, false],
  [575, false],
  [576, false],
];

const int32 = { kind: "int", bits: 32, signed: true } as const;
const text = { kind: "utf8" } as const;
const list = { kind: "list" } as const;
const required = { nullable: false };

const convertField = arrowField(
  "int32_to_int32_list_map",
  { kind: "map" },
  {
    children: [
      arrowField(
        "entries",
        { kind: "struct" },
        {
          nullable: false,
          children: [
            arrowField("key", int32, required),
            arrowField("value", list, { children: [arrowField("item", int32)] }),
          ],
        },
      ),
    ],
  },
);

/** The members of the union, in the order of their type codes. */
const members: readonly ArrowField[] = [
  arrowField("string_value", text),
  arrowField("bool_value", { kind: "bool" }),
  arrowField("bigint_value", { kind: "int", bits: 64, signed: true }),
  arrowField("int32_bitmask", int32),
  arrowField("string_list", list, { children: [arrowField("item", text)] }),
  convertField,
];

export const sqlInfoFields: readonly ArrowField[] = [
  arrowField("info_name", { kind: "int", bits: 32, signed: false }, required),
  arrowField("value", { kind: "denseUnion" }, { nullable: false, children: members }),
];

function memberOf(info: Info): number {
  if (typeof info === "string") return 0;
  if (typeof info === "boolean") return 1;
  if (typeof info === "number") return 2;
  if ("int32" in info) return 3;
  return "convert" in info ? 5 : 4;
}

/** The facts asked for, or all; unknown numbers are left out, as Flight SQL has it. */
export function sqlInfo(
  version: string,
  ids: readonly number[],
): { readonly rows: number; readonly arrays: readonly ArrowArray[] } {
  const wanted = infos.filter(([id]) => ids.length === 0 || ids.includes(id));
  const chosen = wanted.map(([id, info]) => [id, id === versionId ? version : info] as const);
  const values = members.map(() => [] as Info[]);
  const offsets = chosen.map(([, info]) => values[memberOf(info)]!.push(info) - 1);
  const children = members.map((member, i) => memberArray(member, values[i]!));
  const names: ArrowArray = cellsArray(
    sqlInfoFields[0]!,
    chosen.map(([id]) => id),
  );
  const codes = Uint8Array.from(chosen, ([, info]) => memberOf(info));
  const union = { length: chosen.length, nullCount: 0, buffers: [codes, intsOf(offsets, 32)], children };
  return { rows: chosen.length, arrays: [names, union] };
}

function memberArray(member: ArrowField, values: readonly Info[]): ArrowArray {
  if (member !== convertField) {
    return cellsArray(
      member,
      values.map((value) => (typeof value === "object" && "int32" in value ? value.int32 : value)) as string[],
    );
  }
  // Conversions are not announced: the maps are empty.
  const [none, item] = [new Uint8Array(0), members[4]!.children[0]!];
  const lists = { length: 0, nullCount: 0, buffers: [none, new Uint8Array(4)], children: [cellsArray(item, [])] };
  const ints = { ...lists, children: [cellsArray(arrowField("item", int32), [])] };
  const entries = {
    length: 0,
    nullCount: 0,
    buffers: [none],
    children: [cellsArray(arrowField("key", int32), []), ints],
  };
  const offsets = new Uint8Array(4 * (values.length + 1));
  return { length: values.length, nullCount: 0, buffers: [none, offsets], children: [entries] };
}
