import type { Cell } from "../../document-cells.ts";
import { type FoundColumns, writeFound } from "../../found-rows.ts";
import type { FoundDocuments } from "../../retrieval.ts";
import type { SqlColumnInfo } from "../../type.ts";
import { lib, Type, type Value } from "../duckdb.ts";
import { quote } from "../edits.ts";

/** Cells, and bytes of documents, that a statement is given as parameters; more of them become a table. */
const cellsMax = 2_000;
const bytesMax = 64 * 1024;

/** What a retriever found, as lists that stand for its columns. */
export interface FoundLists {
  readonly values: readonly Value[];
  /** A table of them, with the number of the first one's parameter. */
  textFrom(first: number): string;
}

interface ListKind {
  readonly type: number;
  readonly name: string;
  readonly cast?: string;
  value(cell: NonNullable<Cell>): Value;
}

const text = {
  type: Type.VARCHAR,
  name: "VARCHAR",
  value: (cell: NonNullable<Cell>) => lib.create_varchar(String(cell)),
};

/** By the kind of a column's type; columns of others are not given so. */
const kinds: Readonly<Record<string, ListKind>> = {
  int64: { type: Type.BIGINT, name: "BIGINT", value: (cell) => lib.create_int64(BigInt(cell as number)) },
  float64: { type: Type.DOUBLE, name: "DOUBLE", value: (cell) => lib.create_double(cell as number) },
  boolean: { type: Type.BOOLEAN, name: "BOOLEAN", value: (cell) => lib.create_bool(cell as boolean) },
  timestamptz: {
    type: Type.TIMESTAMP_TZ,
    name: "TIMESTAMPTZ",
    value: (cell) => lib.create_timestamp_tz({ micros: cell as bigint }),
  },
  text,
  json: { ...text, cast: "JSON" },
};

/** Undefined when it is too much, or has columns that are no lists of plain values. */
export function foundLists(found: FoundDocuments, columns: FoundColumns): FoundLists | undefined {
  const { all } = columns;
  if (found.ids.length * all.length > cellsMax || found.data.length > bytesMax) return undefined;
  const listed = all.map(({ type }) => kinds[type.kind]);
  if (listed.includes(undefined)) return undefined;
  const items: Value[][] = all.map(() => []);
  const add = (cells: readonly Cell[]) => {
    for (const [i, kind] of listed.entries()) {
      const cell = cells[i];
      items[i]!.push(cell === undefined ? lib.create_null_value() : kind!.value(cell));
    }
  };
  writeFound(found, columns, { add });
  const values = listed.map((kind, i) => lib.create_list_value(lib.create_logical_type(kind!.type), items[i]!));
  return { values, textFrom: (first) => listText(all, first) };
}

function listText(columns: readonly SqlColumnInfo[], first: number): string {
  const shown = columns.map(({ name, type }, i) => {
    const { name: item, cast } = kinds[type.kind]!;
    const list = `unnest($${first + i}::${item}[])`;
    return `${cast === undefined ? list : `${list}::${cast}`} AS ${quote(name)}`;
  });
  return `(SELECT ${shown.join(", ")})`;
}
