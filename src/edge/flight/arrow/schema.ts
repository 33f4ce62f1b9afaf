import { bool, type FlatField, type FlatTable, int8, int16, int32, int64, writeFlat } from "./flat-writer.ts";
import { type ArrowField, type ArrowType, timeUnits } from "./type.ts";

/**
 * The metadata of IPC messages, as Arrow's flatbuffer definitions have it:
 *
 *   Message     { version: i16, header_type: u8, header, bodyLength: i64 }
 *   Schema      { endianness: i16, fields: [Field] }
 *   Field       { name, nullable: bool, type_type: u8, type, dictionary, children: [Field] }
 *   RecordBatch { length: i64, nodes: [{length, null_count}], buffers: [{offset, length}] }
 */
const version5 = 4;
export const headers = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;

/** The ids of `Type`, a union. */
export const typeIds = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  denseUnion: 14,
  fixedBinary: 15,
  fixedList: 16,
  map: 17,
  largeBinary: 19,
  largeUtf8: 20,
  largeList: 21,
} as const satisfies Record<ArrowType["kind"], number>;

const monthDayNano = 2;
const denseMode = 1;

export function schemaMessage(fields: readonly ArrowField[]): Uint8Array {
  const schema: FlatTable = [undefined, { tables: fields.map(fieldTable) }];
  return message(headers.schema, schema, 0);
}

export function recordBatchMessage(
  rows: number,
  nodes: readonly number[],
  buffers: readonly number[],
  bodyBytes: number,
): Uint8Array {
  return message(headers.recordBatch, [int64(rows), { pairs: nodes }, { pairs: buffers }], bodyBytes);
}

function message(headerType: number, header: FlatTable, bodyBytes: number): Uint8Array {
  // A schema may be read with its length before it, four bytes on: nothing in it may need to be aligned to eight.
  const bodyLength = bodyBytes === 0 ? undefined : int64(bodyBytes);
  return writeFlat([int16(version5), int8(headerType), { table: header }, bodyLength]);
}

/** A message without a body as it stands in a stream: a mark, its length, itself. */
export function encapsulated(metadata: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(8);
  head.writeInt32LE(-1, 0);
  head.writeInt32LE(metadata.byteLength, 4);
  return Buffer.concat([head, metadata]);
}

function fieldTable({ name, nullable, type, children }: ArrowField): FlatTable {
  return [
    { text: name },
    bool(nullable),
    int8(typeIds[type.kind]),
    { table: typeTable(type, children) },
    undefined,
    { tables: children.map(fieldTable) },
  ];
}

function typeTable(type: ArrowType, children: readonly ArrowField[]): FlatTable {
  switch (type.kind) {
    case "int":
      return [int32(type.bits), bool(type.signed)];
    case "float":
      return [int16([16, 32, 64].indexOf(type.bits))];
    case "decimal":
      return [int32(type.width), int32(type.scale), int32(type.bits)];
    case "date":
      return [int16(type.unit === "day" ? 0 : 1)];
    case "time":
      return [int16(timeUnits.indexOf(type.unit)), int32(type.unit === "s" || type.unit === "ms" ? 32 : 64)];
    case "timestamp": {
      const zone: FlatField = type.zone === undefined ? undefined : { text: type.zone };
      return [int16(timeUnits.indexOf(type.unit)), zone];
    }
    case "interval":
      return [int16(monthDayNano)];
    case "fixedBinary":
    case "fixedList":
      return [int32(type.size)];
    case "denseUnion":
      return [int16(denseMode), { ints: children.map((_, i) => i) }];
    default:
      return [];
  }
}
