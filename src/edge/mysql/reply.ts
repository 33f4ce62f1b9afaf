import { capability, has } from "./capability.ts";
import type { PacketWriter } from "./packet-writer.ts";

/**
 *   OK  := u8 0x00, lenenc-int affected rows, lenenc-int last insert id, u16 status, u16 warnings, info to the end
 *   EOF := u8 0xFE, u16 warnings, u16 status
 *
 * With CLIENT_DEPRECATE_EOF the end of rows is an OK that begins with 0xFE, and the one between columns and rows is gone.
 */
export function writeOk(packet: PacketWriter, statusBits: number, info = ""): void {
  packet.begin().u8(0).lengthInt(0).lengthInt(0).u16(statusBits).u16(0).text(info).end();
}

export function writeEnd(packet: PacketWriter, capabilities: number, statusBits: number): void {
  if (has(capabilities, capability.deprecateEof)) {
    packet.begin().u8(0xfe).lengthInt(0).lengthInt(0).u16(statusBits).u16(0).end();
  } else writeEof(packet, statusBits);
}

export function writeEof(packet: PacketWriter, statusBits: number): void {
  packet.begin().u8(0xfe).u16(0).u16(statusBits).end();
}
