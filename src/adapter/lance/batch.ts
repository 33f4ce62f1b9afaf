import type { Data, DataType, Field, RecordBatch, Schema } from "apache-arrow";
import type {
  Column,
  ColumnarRow,
  ColumnarSchema,
  ColumnType,
  ColumnValues,
  VectorColumn,
} from "../../port/columnar.ts";
import type { Arrow } from "./load.ts";

export const idColumn = "_id";
const versionColumn = "_version";
const sourceColumn = "_source";

function valueType(arrow: Arrow, type: ColumnType): DataType {
  switch (type) {
    case "i64":
      return new arrow.Int64();
    case "f64":
      return new arrow.Float64();
    case "bool":
      return new arrow.Bool();
    case "date":
      return new arrow.TimestampMillisecond("UTC");
    case "string":
    case "json":
      return new arrow.Utf8();
  }
}

/** Text is written in compressed pages, to less than half: a field's text is there again in the source. */
const compressed: ReadonlyMap<string, string> = new Map([["lance-encoding:compression", "zstd"]]);

function metadataOf(type: ColumnType): Map<string, string> {
  return new Map(type === "string" || type === "json" ? compressed : []);
}

function scalarField(arrow: Arrow, column: Column): Field {
  return new arrow.Field(columnName(column.name), valueType(arrow, column.type), true, metadataOf(column.type));
}

export function listField(arrow: Arrow, column: Column): Field {
  const item = new arrow.Field("item", valueType(arrow, column.type), true, metadataOf(column.type));
  return new arrow.Field(listName(column.name), new arrow.List(item), true);
}

export function vectorField(arrow: Arrow, vector: VectorColumn): Field {
  const item = new arrow.Field("item", new arrow.Float32(), true);
  return new arrow.Field(columnName(vector.name), new arrow.FixedSizeList(vector.dim, item), true);
}

/** Every column of the dataset. `lists` names the fields that have had several values in one document. */
export function arrowSchema(arrow: Arrow, schema: ColumnarSchema, lists: ReadonlySet<string>): Schema {
  const multiple = schema.columns.filter((column) => lists.has(column.name));
  return new arrow.Schema([
    new arrow.Field(idColumn, new arrow.Int64(), false),
    new arrow.Field(versionColumn, new arrow.Int64(), false),
    ...schema.columns.map((column) => scalarField(arrow, column)),
    ...multiple.map((column) => listField(arrow, column)),
    ...schema.vectors.map((vector) => vectorField(arrow, vector)),
    new arrow.Field(sourceColumn, new arrow.Utf8(), false, metadataOf("string")),
  ]);
}

/** Bit i says whether row i has a value; undefined when all have one. */
function validity(length: number, has: (i: number) => boolean): { nullCount: number; nullBitmap: Uint8Array | null } {
  const bits = new Uint8Array((length + 7) >> 3);
  let present = 0;
  for (let i = 0; i < length; i++) {
    if (!has(i)) continue;
    bits[i >> 3]! |= 1 << (i & 7);
    present++;
  }
  return { nullCount: length - present, nullBitmap: present === length ? null : bits };
}

/** Two's complement in two halves, which needs no BigInt for each value. Exact for every safe integer. */
function int64s(length: number, value: (i: number) => number): BigInt64Array {
  const halves = new Uint32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const number = value(i);
    const high = Math.floor(number / 2 ** 32);
    halves[2 * i] = number - high * 2 ** 32;
    halves[2 * i + 1] = high;
  }
  return new BigInt64Array(halves.buffer);
}

function strings(length: number, value: (i: number) => string): { valueOffsets: Int32Array; data: Uint8Array } {
  const valueOffsets = new Int32Array(length + 1);
  let total = 0;
  for (let i = 0; i < length; i++) {
    total += Buffer.byteLength(value(i));
    valueOffsets[i + 1] = total;
  }
  const data = Buffer.allocUnsafe(total);
  for (let i = 0; i < length; i++) data.write(value(i), valueOffsets[i]!, "utf8");
  return { valueOffsets, data };
}

/** One value a row; undefined is null. */
function scalars(arrow: Arrow, type: ColumnType, values: readonly (string | number | undefined)[]): Data {
  const { length } = values;
  const nulls = validity(length, (i) => values[i] !== undefined);
  const number = (i: number) => (values[i] as number | undefined) ?? 0;
  switch (type) {
    case "i64":
      return arrow.makeData({ type: new arrow.Int64(), length, ...nulls, data: int64s(length, number) });
    case "date":
      return arrow.makeData({
        type: new arrow.TimestampMillisecond("UTC"),
        length,
        ...nulls,
        data: int64s(length, number),
      });
    case "f64":
      return arrow.makeData({
        type: new arrow.Float64(),
        length,
        ...nulls,
        data: Float64Array.from(values, (_, i) => number(i)),
      });
    case "bool": {
      const bits = new Uint8Array((length + 7) >> 3);
      for (let i = 0; i < length; i++) if (values[i] === 1) bits[i >> 3]! |= 1 << (i & 7);
      return arrow.makeData({ type: new arrow.Bool(), length, ...nulls, data: bits });
    }
    case "string":
    case "json": {
      const text = strings(length, (i) => (values[i] as string | undefined) ?? "");
      return arrow.makeData({ type: new arrow.Utf8(), length, ...nulls, ...text });
    }
  }
}

function lists(arrow: Arrow, column: Column, values: readonly ColumnValues[]): Data {
  const { length } = values;
  const valueOffsets = new Int32Array(length + 1);
  const flat: (string | number)[] = [];
  values.forEach((of, i) => {
    for (const value of of) flat.push(value);
    valueOffsets[i + 1] = flat.length;
  });
  const nulls = validity(length, (i) => values[i]!.length > 0);
  const child = scalars(arrow, column.type, flat);
  const type = listField(arrow, column).type as InstanceType<Arrow["List"]>;
  return arrow.makeData({ type, length, ...nulls, valueOffsets, child });
}

function vectors(arrow: Arrow, vector: VectorColumn, values: readonly (Float32Array | undefined)[]): Data {
  const { length } = values;
  const data = new Float32Array(length * vector.dim);
  values.forEach((value, i) => {
    if (value !== undefined) data.set(value, i * vector.dim);
  });
  const nulls = validity(length, (i) => values[i] !== undefined);
  const child = arrow.makeData({ type: new arrow.Float32(), length: data.length, nullCount: 0, data });
  const type = vectorField(arrow, vector).type as InstanceType<Arrow["FixedSizeList"]>;
  return arrow.makeData({ type, length, ...nulls, child });
}

const none: ColumnValues = [];

/**
 * Rows as one Arrow batch with the dataset's columns in their order. Written column by column into plain buffers,
 * several times as fast as Arrow's builders.
 */
export function rowBatch(
  arrow: Arrow,
  schema: ColumnarSchema,
  dataset: Schema,
  several: ReadonlySet<string>,
  rows: readonly ColumnarRow[],
): RecordBatch {
  const columns = new Map<string, Data>();
  columns.set(
    idColumn,
    scalars(
      arrow,
      "i64",
      rows.map((row) => row.id),
    ),
  );
  columns.set(
    versionColumn,
    scalars(
      arrow,
      "i64",
      rows.map((row) => row.version),
    ),
  );
  schema.columns.forEach((column, c) => {
    columns.set(
      columnName(column.name),
      scalars(
        arrow,
        column.type,
        rows.map((row) => row.values[c]?.[0]),
      ),
    );
    if (!several.has(column.name)) return;
    columns.set(
      listName(column.name),
      lists(
        arrow,
        column,
        rows.map((row) => row.values[c] ?? none),
      ),
    );
  });
  schema.vectors.forEach((vector, v) => {
    columns.set(
      columnName(vector.name),
      vectors(
        arrow,
        vector,
        rows.map((row) => row.vectors[v]),
      ),
    );
  });
  columns.set(
    sourceColumn,
    scalars(
      arrow,
      "string",
      rows.map((row) => row.source),
    ),
  );
  const children = dataset.fields.map((field) => columns.get(field.name)!);
  const data = arrow.makeData({ type: new arrow.Struct(dataset.fields), length: rows.length, nullCount: 0, children });
  return new arrow.RecordBatch(dataset, data);
}

const escapes = new Map([
  ["~", "~0"],
  ["/", "~1"],
  ["`", "~3"],
  ['"', "~4"],
  [".", "/"],
]);

/**
 * Lance allows no dot in the name of a column, and its queries fail on quotes. A dotted name becomes a path with
 * slashes (`a.b` is column `a/b`), and what would be mistaken for one is escaped as in a JSON pointer, so that no two
 * fields share a column. So are, by their code, control characters and half surrogate pairs, which earlier builds let
 * into names: its files hold neither.
 */
export function columnName(field: string): string {
  const escaped = field
    .replace(/[~/`".]/g, (char) => escapes.get(char)!)
    .replace(/[\u0000-\u001f\u007f\p{Cs}]/gu, (char) => `~5${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return escaped.endsWith(listSuffix) ? `${escaped.slice(0, -listSuffix.length)}~2` : escaped;
}

const listSuffix = "[]";

/** Holds all values of a field that has had several in one document. */
export function listName(field: string): string {
  return `${columnName(field)}${listSuffix}`;
}
