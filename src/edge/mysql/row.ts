import type { PacketWriter } from "./packet-writer.ts";

/** Writes one row of a batch as a message; made anew for each batch, so that a row costs no look at its types. */
export type RowEncoder = (packet: PacketWriter, row: number) => void;
