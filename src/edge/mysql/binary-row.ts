import type { SqlBatch, SqlColumn } from "../../engine/sql/batch.ts";
import { civil, decimalText, uuidText } from "../../engine/sql/time-text.ts";
import { int128 } from "../../engine/sql/value.ts";
import { type Clock, clockOf, type Day, splitInstant } from "./calendar.ts";
import { type FixedColumn, intervalTextAt, isNull, jsonAt } from "./cell.ts";
import type { PacketWriter, RowEncoder } from "./packet-writer.ts";

/** The bitmap's first two bits stand for nothing. */
const bitOffset = 2;

/**
 *   A row of COM_STMT_EXECUTE := u8 0, bitmap of NULLs (bit 2 is the first column), then the values that are none:
 *     integers and floats  as many bytes as their type has, little-endian
 *     date                 u8 4, u16 year, u8 month, u8 day
 *     datetime, timestamp  u8 4 | 7 | 11: the date; u8 hours, minutes, seconds; u32 microseconds, as far as they are not 0
 *     time                 u8 0 | 8 | 12: u8 negative, u32 days, u8 hours, minutes, seconds; u32 microseconds
 *     everything else      a lenenc-string
 */
export function binaryRows(batch: SqlBatch, offsetMicros: bigint): RowEncoder {
  const { columns } = batch;
  const cells = columns.map((column) => valueWriter(column, offsetMicros));
  const bitmapBytes = (columns.length + bitOffset + 7) >> 3;
  return (packet, row) => {
    packet.begin().u8(0);
    const bitmap = packet.position;
    packet.zeros(bitmapBytes);
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]!;
      if (isNull(column, row, offsetMicros)) packet.setBit(bitmap, i + bitOffset);
      else cells[i]!(packet, row);
    }
    packet.end();
  };
}

type CellWriter = (packet: PacketWriter, row: number) => void;

function valueWriter(column: SqlColumn, offsetMicros: bigint): CellWriter {
  switch (column.layout) {
    case "null":
      return () => {};
    case "bits":
      return (packet, row) => packet.u8((column.data[row >> 3]! & (1 << (row & 7))) === 0 ? 0 : 1);
    case "bytes":
      return (packet, row) => packet.lengthBytes(column.data.subarray(column.offsets[row]!, column.offsets[row + 1]!));
    case "list":
    case "struct":
      return (packet, row) => packet.lengthText(jsonAt(column, row));
    case "fixed":
      return fixedWriter(column, offsetMicros);
  }
}

function fixedWriter(column: FixedColumn, offsetMicros: bigint): CellWriter {
  const { type, data } = column;
  switch (type.kind) {
    case "int8":
    case "uint8":
      return (packet, row) => packet.u8((data[row] as number) & 0xff);
    case "int16":
    case "uint16":
      return (packet, row) => packet.u16(data[row] as number);
    case "int32":
    case "uint32":
      return (packet, row) => packet.u32(data[row] as number);
    case "int64":
    case "uint64":
      return (packet, row) => packet.u64(data[row] as bigint);
    case "float32":
      return (packet, row) => packet.f32(data[row] as number);
    case "float64":
      return (packet, row) => packet.f64(data[row] as number);
    case "decimal":
      return (packet, row) => packet.lengthAscii(decimalText(int128(data as BigInt64Array, row), type.scale));
    case "int128":
      return (packet, row) => packet.lengthAscii(int128(data as BigInt64Array, row).toString());
    case "uint128":
      return (packet, row) => packet.lengthAscii(BigInt.asUintN(128, int128(data as BigInt64Array, row)).toString());
    case "date":
      return (packet, row) => writeDate(packet.u8(4), civil((data as Int32Array)[row]!));
    case "time":
      return (packet, row) => writeTime(packet, clockOf(Number((data as BigInt64Array)[row]!)));
    case "timestamp":
      return (packet, row) => writeInstant(packet, (data as BigInt64Array)[row]!);
    case "timestamptz":
      return (packet, row) => writeInstant(packet, (data as BigInt64Array)[row]! + offsetMicros);
    case "uuid":
      return (packet, row) => packet.lengthAscii(uuidText(data as Uint8Array, 16 * row));
    case "interval":
      return (packet, row) => packet.lengthAscii(intervalTextAt(column, row));
    case "enum":
      return (packet, row) => packet.lengthText(type.values[Number(data[row])] ?? "");
    default:
      return (packet, row) => packet.lengthText(String(data[row]));
  }
}

function writeDate(packet: PacketWriter, { year, month, day }: Day): PacketWriter {
  return packet.u16(year).u8(month).u8(day);
}

function writeClock(packet: PacketWriter, { hours, minutes, seconds }: Clock): PacketWriter {
  return packet.u8(hours).u8(minutes).u8(seconds);
}

function writeInstant(packet: PacketWriter, instant: bigint): void {
  const { days, micros } = splitInstant(instant);
  const day = civil(days);
  const clock = clockOf(micros);
  if (micros === 0) writeDate(packet.u8(4), day);
  else if (clock.micros === 0) writeClock(writeDate(packet.u8(7), day), clock);
  else writeClock(writeDate(packet.u8(11), day), clock).u32(clock.micros);
}

function writeTime(packet: PacketWriter, clock: Clock): void {
  const { hours, minutes, seconds, micros } = clock;
  if (hours === 0 && minutes === 0 && seconds === 0 && micros === 0) packet.u8(0);
  else if (micros === 0) writeClock(packet.u8(8).u8(0).u32(0), clock);
  else writeClock(packet.u8(12).u8(0).u32(0), clock).u32(micros);
}
