import { FlatReader, type FlatTableReader } from "./flat-reader.ts";
import { headers, typeIds } from "./schema.ts";
import { type ArrowField, type ArrowType, arrowField, timeUnits } from "./type.ts";

/** A client's message that can't be used; the text is sent to the caller. */
export class ArrowFormatError extends Error {}

const nestingMax = 8;

export type ReadMessage =
  | { readonly kind: "schema"; readonly fields: readonly ArrowField[] }
  | { readonly kind: "batch"; readonly header: BatchHeader };

export interface BatchHeader {
  readonly rows: number;
  readonly nodes: readonly (readonly [length: number, nullCount: number])[];
  readonly buffers: readonly (readonly [offset: number, length: number])[];
}

export function readMessage(metadata: Uint8Array): ReadMessage {
  try {
    const message = new FlatReader(metadata).root;
    const header = message.table(2);
    if (header === undefined) throw new ArrowFormatError("a message has no header");
    switch (message.uint8(1)) {
      case headers.schema:
        if (header.int16(0) !== 0) throw new ArrowFormatError("big-endian data is not supported");
        return { kind: "schema", fields: header.tables(1).map((field) => readField(field, 1)) };
      case headers.recordBatch:
        if (header.table(3) !== undefined) throw new ArrowFormatError("compressed buffers are not supported");
        return {
          kind: "batch",
          header: { rows: header.int64(0), nodes: header.pairs(1), buffers: header.pairs(2) },
        };
      default:
        throw new ArrowFormatError("only a schema and record batches are supported");
    }
  } catch (error) {
    if (error instanceof RangeError) throw new ArrowFormatError("a message can't be read");
    throw error;
  }
}

function readField(table: FlatTableReader, depth: number): ArrowField {
  if (depth > nestingMax) throw new ArrowFormatError(`types are nested more than ${nestingMax} deep`);
  if (table.table(4) !== undefined) throw new ArrowFormatError("dictionaries are not supported");
  const name = table.text(0) ?? "";
  const children = table.tables(5).map((child) => readField(child, depth + 1));
  const type = readType(table.uint8(2), table.table(3));
  if (type === undefined) throw new ArrowFormatError(`the type of ${JSON.stringify(name)} is not supported`);
  const needsChild = type.kind === "list" || type.kind === "largeList" || type.kind === "fixedList";
  if (needsChild && children.length !== 1) throw new ArrowFormatError("a list needs the type of its items");
  return arrowField(name, type, { nullable: table.uint8(1) !== 0, children });
}

/** Types that have no parameters of their own. */
const bare: Readonly<Record<number, ArrowType>> = {
  [typeIds.null]: { kind: "null" },
  [typeIds.bool]: { kind: "bool" },
  [typeIds.utf8]: { kind: "utf8" },
  [typeIds.binary]: { kind: "binary" },
  [typeIds.largeUtf8]: { kind: "largeUtf8" },
  [typeIds.largeBinary]: { kind: "largeBinary" },
  [typeIds.list]: { kind: "list" },
  [typeIds.largeList]: { kind: "largeList" },
  [typeIds.struct]: { kind: "struct" },
};

const decimalDigitsMax = { 128: 38, 256: 76 } as const;

function readType(id: number, table: FlatTableReader | undefined): ArrowType | undefined {
  if (bare[id] !== undefined) return bare[id];
  if (table === undefined) return undefined;
  const unit = timeUnits[table.int16(0)];
  switch (id) {
    case typeIds.int: {
      const bits = ([8, 16, 32, 64] as const).find((each) => each === table.int32(0));
      return bits && { kind: "int", bits, signed: table.uint8(1) !== 0 };
    }
    case typeIds.float: {
      const bits = ([16, 32, 64] as const)[table.int16(0)];
      return bits && { kind: "float", bits };
    }
    case typeIds.decimal: {
      const bits = ([128, 256] as const).find((each) => each === table.int32(2, 128));
      const [width, scale] = [table.int32(0), table.int32(1)];
      if (bits === undefined || Math.max(width, Math.abs(scale)) > decimalDigitsMax[bits]) return undefined;
      return { kind: "decimal", width, scale, bits };
    }
    case typeIds.date:
      // The default of the unit is milliseconds, which is not 0.
      return { kind: "date", unit: table.has(0) && table.int16(0) === 0 ? "day" : "ms" };
    case typeIds.time:
      return { kind: "time", unit: table.has(0) ? (unit ?? "ms") : "ms" };
    case typeIds.timestamp:
      return unit && { kind: "timestamp", unit, zone: table.text(1) };
    case typeIds.interval:
      return table.int16(0) === 2 ? { kind: "interval" } : undefined;
    case typeIds.fixedBinary:
    case typeIds.fixedList: {
      const size = table.int32(0);
      if (size < 0) return undefined;
      return id === typeIds.fixedBinary ? { kind: "fixedBinary", size } : { kind: "fixedList", size };
    }
    default:
      return undefined;
  }
}
