import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import type { PacketWriter } from "./packet-writer.ts";
import { mysqlType } from "./type.ts";

export interface ColumnOrigin {
  readonly database: string;
  readonly table: string;
}

const nowhere: ColumnOrigin = { database: "", table: "" };

/**
 *   ColumnDefinition41 := lenenc-strings: "def", database, table alias, table, alias, name; u8 length of what follows (12):
 *                         u16 character set, u32 length, u8 type, u16 flags, u8 decimals, u16 0
 */
export function writeColumn(packet: PacketWriter, column: SqlColumnInfo, origin: ColumnOrigin = nowhere): void {
  beginColumn(packet, column, origin);
  packet.end();
}

/** The same with the column's default, as COM_FIELD_LIST wants it: 0xFB for none. */
export function writeListedColumn(packet: PacketWriter, column: SqlColumnInfo, origin: ColumnOrigin): void {
  beginColumn(packet, column, origin);
  packet.u8(0xfb).end();
}

function beginColumn(packet: PacketWriter, { name, type }: SqlColumnInfo, { database, table }: ColumnOrigin): void {
  const { code, charset, length, flags, decimals } = mysqlType(type);
  packet.begin().lengthAscii("def").lengthText(database).lengthText(table).lengthText(table);
  packet.lengthText(name).lengthText(name).u8(0x0c).u16(charset).u32(length).u8(code).u16(flags).u8(decimals).u16(0);
}
