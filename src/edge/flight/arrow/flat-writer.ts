import { Builder } from "flatbuffers";

/** A table of a flatbuffer, as its fields in the order of their ids. */
export type FlatTable = readonly FlatField[];

type FlatNumber = { readonly int: number; readonly bytes: 1 | 2 | 4 | 8 };

type FlatReference =
  | { readonly table: FlatTable }
  | { readonly text: string }
  | { readonly tables: readonly FlatTable[] }
  | { readonly ints: readonly number[] }
  /** A vector of structs of two 64-bit integers each. */
  | { readonly pairs: readonly number[] };

/** Undefined is the default. */
export type FlatField = undefined | FlatNumber | FlatReference;

export const int8 = (int: number): FlatField => ({ int, bytes: 1 });
export const int16 = (int: number): FlatField => ({ int, bytes: 2 });
export const int32 = (int: number): FlatField => ({ int, bytes: 4 });
export const int64 = (int: number): FlatField => ({ int, bytes: 8 });
export const bool = (value: boolean): FlatField => ({ int: value ? 1 : 0, bytes: 1 });

/** The bytes of a flatbuffer, a multiple of eight as Arrow's messages want it. */
export function writeFlat(root: FlatTable): Uint8Array {
  const builder = new Builder(512);
  // A field's default is not always 0: what is given is written.
  builder.forceDefaults(true);
  const offset = addTable(builder, root);
  builder.prep(8, 4);
  builder.finish(offset);
  return builder.asUint8Array();
}

/** A flatbuffer is written from its end: what a table refers to comes before it. */
function addTable(builder: Builder, fields: FlatTable): number {
  const offsets = fields.map((field) =>
    field === undefined || "int" in field ? undefined : addReference(builder, field),
  );
  builder.startObject(fields.length);
  for (const [id, field] of fields.entries()) {
    if (field === undefined) continue;
    if ("int" in field) addNumber(builder, id, field);
    else builder.addFieldOffset(id, offsets[id]!, 0);
  }
  return builder.endObject();
}

function addNumber(builder: Builder, id: number, { int, bytes }: FlatNumber): void {
  if (bytes === 8) builder.addFieldInt64(id, BigInt(int), 0n);
  else if (bytes === 4) builder.addFieldInt32(id, int, 0);
  else if (bytes === 2) builder.addFieldInt16(id, int, 0);
  else builder.addFieldInt8(id, int, 0);
}

function addReference(builder: Builder, field: FlatReference): number {
  if ("table" in field) return addTable(builder, field.table);
  if ("text" in field) return builder.createString(field.text);
  if ("pairs" in field) {
    builder.startVector(16, field.pairs.length / 2, 8);
    for (const int of field.pairs.toReversed()) builder.addInt64(BigInt(int));
  } else if ("ints" in field) {
    builder.startVector(4, field.ints.length, 4);
    for (const int of field.ints.toReversed()) builder.addInt32(int);
  } else {
    const offsets = field.tables.map((table) => addTable(builder, table));
    builder.startVector(4, offsets.length, 4);
    for (const offset of offsets.toReversed()) builder.addOffset(offset);
  }
  return builder.endVector();
}
