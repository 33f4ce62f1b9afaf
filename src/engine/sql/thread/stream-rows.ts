import { isUtf8 } from "node:buffer";
import type { Reader } from "../../../port/store.ts";
import { yieldTurn } from "../../collection/engine-thread.ts";
import { logKey, logKeyOffset } from "../../keys.ts";
import { BatchCursor, type RecordHeader } from "../../log/record-batch.ts";
import { sqlFault } from "../fault.ts";
import type { StreamTable } from "../messages.ts";
import type { ChunkWriter } from "./chunk-writer.ts";

/** What one statement may read of streams. */
export interface StreamBudget {
  readonly bytesMax: number;
}

/** Writes the records of a stream that retention keeps, partition by partition. */
export async function writeRecords(
  table: StreamTable,
  reader: Reader,
  rows: ChunkWriter,
  budget: StreamBudget,
  check: () => void,
): Promise<void> {
  const offsets = table.offsets ?? new Float64Array();
  let bytes = 0;
  for (let partition = 0; partition * 2 < offsets.length; partition++) {
    const start = offsets[partition * 2]!;
    const end = offsets[partition * 2 + 1]!;
    for (const batch of batches(reader, table.id, partition, start, end)) {
      bytes += batch.bytes.length;
      if (bytes > budget.bytesMax) throw tooMuch(table.name, budget.bytesMax);
      if (batch.header.baseOffset < start && !batch.seek(start - 1)) continue;
      while (batch.next() && batch.offset < end) rows.add(recordCells(partition, batch));
      await yieldTurn();
      check();
    }
  }
}

function tooMuch(name: string, bytesMax: number) {
  return sqlFault(
    "too_many_rows",
    `streams.${name} holds more than the ${bytesMax} bytes that one statement reads of streams (SERVICE_SQL_STREAM_BYTES); narrow it by partition, offset or timestamp`,
  );
}

function* batches(
  reader: Reader,
  stream: number,
  partition: number,
  start: number,
  end: number,
): Iterable<BatchCursor> {
  if (start >= end) return;
  const before = {
    from: logKey(stream, partition, 0),
    to: logKey(stream, partition, start + 1),
    reverse: true,
    limit: 1,
  };
  let base = start;
  for (const key of reader.keys(before)) base = logKeyOffset(key);
  const range = { from: logKey(stream, partition, base), to: logKey(stream, partition, end) };
  for (const { key, value } of reader.range(range)) yield new BatchCursor(key, value);
}

function recordCells(partition: number, record: BatchCursor) {
  return [
    partition,
    record.offset,
    BigInt(Math.round(record.timestampMs * 1000)),
    bytesText(record.key),
    bytesText(record.value),
    headersText(record.headers),
  ];
}

/**
 * Text as it is. Bytes that are no UTF-8 are shown as DuckDB shows a BLOB, which `::BLOB` reads back: printable ASCII
 * as it is, every other byte as `\xHH`.
 */
export function bytesText(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x5c;
    text += plain ? String.fromCharCode(byte) : `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

/** An object by name; a name that is there several times has an array of its values. */
function headersText(headers: readonly RecordHeader[]): string {
  const found = new Map<string, (string | null)[]>();
  for (const { key, value } of headers) {
    const text = bytesText(value === undefined ? undefined : Buffer.from(value)) ?? null;
    const known = found.get(key);
    if (known === undefined) found.set(key, [text]);
    else known.push(text);
  }
  const members = [...found].map(
    ([name, values]) => `${JSON.stringify(name)}:${JSON.stringify(values.length === 1 ? values[0] : values)}`,
  );
  return `{${members.join(",")}}`;
}
