import type { SqlBatch } from "../../engine/sql/batch.ts";
import { checkWeight } from "../../engine/sql/value.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { WireConnection } from "../wire/connection.ts";
import { binaryRows } from "./binary-row.ts";
import { capability, has, status } from "./capability.ts";
import { writeColumn } from "./column-definition.ts";
import { mysqlLimits } from "./limits.ts";
import type { PacketWriter, RowEncoder } from "./packet-writer.ts";
import { writeEnd, writeEof } from "./reply.ts";
import type { Rows } from "./rows.ts";
import { textRows } from "./text-row.ts";

export type RowFormat = "text" | "binary";

export interface ResultOptions {
  readonly format: RowFormat;
  readonly offsetMicros: bigint;
  readonly status: number;
}

/**
 *   resultset := lenenc-int columns, a ColumnDefinition41 for each, EOF, rows, EOF
 *
 * (see reply.ts for the ends). Rows leave as the client reads them, and other sessions run in between.
 */
export class ResultWriter {
  readonly #connection: WireConnection;
  readonly #packet: PacketWriter;
  readonly #capabilities: number;

  constructor(connection: WireConnection, packet: PacketWriter, capabilities: number) {
    this.#connection = connection;
    this.#packet = packet;
    this.#capabilities = capabilities;
  }

  async write(rows: Rows, options: ResultOptions): Promise<void> {
    this.head(rows);
    if (!has(this.#capabilities, capability.deprecateEof)) writeEof(this.#packet, options.status);
    for (let batch = await rows.next(); batch !== undefined; batch = await rows.next()) {
      await this.rows(batch, 0, batch.rows, options);
    }
    writeEnd(this.#packet, this.#capabilities, options.status);
  }

  /** The columns alone, before a cursor's rows are fetched. */
  head({ columns }: Pick<Rows, "columns">): void {
    this.#packet.begin().lengthInt(columns.length).end();
    for (const column of columns) writeColumn(this.#packet, column);
  }

  openCursor(rows: Rows, statusBits: number): void {
    this.head(rows);
    writeEnd(this.#packet, this.#capabilities, statusBits | status.cursorExists);
  }

  end(statusBits: number): void {
    writeEnd(this.#packet, this.#capabilities, statusBits);
  }

  async rows(batch: SqlBatch, from: number, to: number, { format, offsetMicros }: ResultOptions): Promise<void> {
    const packet = this.#packet;
    checkWeight(batch);
    const mayBeLong = batch.columns.some(({ layout }) => layout === "list" || layout === "struct");
    const encode: RowEncoder = (format === "text" ? textRows : binaryRows)(batch, offsetMicros);
    let untilMs = performance.now() + mysqlLimits.turnMs;
    for (let row = from; row < to; row++) {
      encode(packet, row);
      if (packet.length >= mysqlLimits.flushBytes) await this.#flush();
      // The clock is asked now and then only.
      if ((!mayBeLong && (row & 31) !== 31) || performance.now() < untilMs) continue;
      await nextTurn();
      untilMs = performance.now() + mysqlLimits.turnMs;
    }
  }

  async #flush(): Promise<void> {
    const connection = this.#connection;
    connection.write(this.#packet.take());
    await connection.drained();
    if (!connection.isOpen) throw new ClientGone();
  }
}

/** Nobody is left to tell. */
export class ClientGone extends Error {
  constructor() {
    super("the client has gone");
    this.name = "ClientGone";
  }
}
