import type { SqlColumn } from "../../../engine/sql/batch.ts";
import { int128 } from "../../../engine/sql/value.ts";
import { oids, typeName } from "../message/oid.ts";
import type { MessageWriter } from "../message/writer.ts";
import { binaryDate, binaryTimestamp } from "./calendar.ts";
import { isOpenDecimal, writeNumeric, writeOpenNumeric } from "./number.ts";
import { bitAt, isNull, slice, textReader } from "./text.ts";

/** Writes a value that is there in Postgres's binary format, without its length. */
export type BinaryWriter = (out: MessageWriter, row: number) => void;

type Fixed = Extract<SqlColumn, { layout: "fixed" }>;
type List = Extract<SqlColumn, { layout: "list" }>;

export function binaryWriter(column: SqlColumn): BinaryWriter {
  switch (column.layout) {
    case "null":
      return () => {};
    case "bits":
      return (out, row) => out.byte(bitAt(column.data, row) ? 1 : 0);
    case "bytes":
      return (out, row) => out.raw(slice(column, row));
    case "fixed":
      return fixedWriter(column);
    case "list":
      return typeName(column.type).isArray ? arrayWriter(column) : asText(column);
    case "struct":
      return asText(column);
  }
}

/** Text and JSON are the same in both formats. */
function asText(column: SqlColumn): BinaryWriter {
  const read = textReader(column);
  return (out, row) => out.text(read(row));
}

function fixedWriter(column: Fixed): BinaryWriter {
  const { type, data } = column;
  switch (type.kind) {
    case "boolean":
      return (out, row) => out.byte(data[row] ? 1 : 0);
    case "int8":
    case "uint8":
    case "int16":
      return (out, row) => out.int16(Number(data[row]));
    case "uint16":
    case "int32":
      return (out, row) => out.int32(Number(data[row]));
    case "uint32":
      return (out, row) => out.uint32(Number(data[row]));
    case "int64":
      return (out, row) => out.int64(BigInt(data[row]!));
    case "uint64":
      return (out, row) => writeNumeric(out, BigInt.asUintN(64, BigInt(data[row]!)), 0);
    case "int128":
      return (out, row) => writeNumeric(out, int128(data as BigInt64Array, row), 0);
    case "uint128":
      return (out, row) => writeNumeric(out, BigInt.asUintN(128, int128(data as BigInt64Array, row)), 0);
    case "decimal": {
      const write = isOpenDecimal(type.width, type.scale) ? writeOpenNumeric : writeNumeric;
      return (out, row) => write(out, int128(data as BigInt64Array, row), type.scale);
    }
    case "float32":
      return (out, row) => out.float32(Number(data[row]));
    case "float64":
      return (out, row) => out.float64(Number(data[row]));
    case "uuid":
      return (out, row) => out.raw((data as Uint8Array).subarray(16 * row, 16 * row + 16));
    case "date":
      return (out, row) => out.int32(binaryDate(Number(data[row])));
    case "time":
      return (out, row) => out.int64(BigInt(data[row]!));
    case "timestamp":
    case "timestamptz":
      return (out, row) => out.int64(binaryTimestamp(BigInt(data[row]!)));
    case "interval":
      // micros: int64, days: int32, months: int32
      return (out, row) =>
        out
          .int64(BigInt(data[3 * row + 2]!))
          .int32(Number(data[3 * row + 1]))
          .int32(Number(data[3 * row]));
    default:
      return asText(column);
  }
}

/**
 * array: dimensions: int32 (0 when empty), hasNull: int32, item type: int32, for each dimension { length: int32,
 * lowest index: int32 }, then each item { length: int32 (-1 is NULL), value }
 */
function arrayWriter(column: List): BinaryWriter {
  const { items, offsets } = column;
  const { oid } = oids[typeName(column.type).name];
  const write = binaryWriter(items);
  return (out, row) => {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    if (start === end) {
      out.int32(0).int32(0).uint32(oid);
      return;
    }
    out.int32(1);
    const hasNull = out.hold();
    out
      .uint32(oid)
      .int32(end - start)
      .int32(1);
    let nulls = 0;
    for (let i = start; i < end; i++) {
      if (isNull(items, i)) {
        nulls = 1;
        out.int32(-1);
        continue;
      }
      const length = out.hold();
      write(out, i);
      out.fillLength(length);
    }
    out.fill(hasNull, nulls);
  };
}
