import type { WireConnection } from "../wire/connection.ts";
import { mysqlError } from "./error.ts";
import { payloadBytesMax } from "./packet-writer.ts";

const headerBytes = 4;

/**
 * Puts messages together from packets (see `PacketWriter`), checking that none is missing and that they stay within
 * what they may hold. Bytes are taken only once the message is whole, so that its deadline holds for all of it.
 */
export class PacketReader {
  readonly #connection: WireConnection;

  constructor(connection: WireConnection) {
    this.#connection = connection;
  }

  /** The next message and the sequence id that follows it; undefined when the connection ends before. */
  async read(sequence: number, bytesMax: number): Promise<{ payload: Buffer; sequence: number } | undefined> {
    const connection = this.#connection;
    const lengths: number[] = [];
    let offset = 0;
    let total = 0;
    for (;;) {
      if (!(await connection.fill(offset + headerBytes))) return undefined;
      const header = connection.peek(offset + headerBytes).subarray(offset);
      const length = header.readUIntLE(0, 3);
      total += length;
      if (header[3] !== ((sequence + lengths.length) & 0xff)) {
        throw mysqlError("packetsOutOfOrder", "Got packets out of order");
      }
      if (total > bytesMax) {
        throw mysqlError("packetTooLarge", `Got a packet bigger than 'max_allowed_packet' bytes (${bytesMax})`);
      }
      lengths.push(length);
      if (!(await connection.fill(offset + headerBytes + length))) return undefined;
      offset += headerBytes + length;
      if (length < payloadBytesMax) break;
    }
    return { payload: join(connection.take(offset), lengths, total), sequence: (sequence + lengths.length) & 0xff };
  }
}

function join(bytes: Buffer, lengths: readonly number[], total: number): Buffer {
  if (lengths.length === 1) return bytes.subarray(headerBytes);
  const joined = Buffer.allocUnsafe(total);
  let from = 0;
  let to = 0;
  for (const length of lengths) {
    bytes.copy(joined, to, from + headerBytes, from + headerBytes + length);
    from += headerBytes + length;
    to += length;
  }
  return joined;
}
