import { isUtf8 } from "node:buffer";
import { nextTurn } from "../../../../port/next-turn.ts";
import type { Reader } from "../../../../port/store.ts";
import { logKey, logKeyOffset } from "../../../keys.ts";
import { BatchCursor, type RecordHeader } from "../../../log/record-batch.ts";
import { sqlFault } from "../../fault.ts";
import type { UsedColumns } from "../../found-rows.ts";
import type { StreamRead, StreamTable } from "../../messages.ts";
import type { ChunkWriter } from "./chunk-writer.ts";

/** What one statement may read of streams. */
export interface StreamBudget {
  readonly bytesMax: number;
  bytesLeft: number;
}

/** Writes the records of some spans of a stream, partition by partition, in the columns that the statement uses. */
export async function writeRecords(
  { id, name }: StreamTable,
  { spans, rowsMax = Infinity }: StreamRead,
  used: UsedColumns,
  reader: Reader,
  rows: ChunkWriter,
  budget: StreamBudget,
  check: () => void,
): Promise<void> {
  const uses = (column: string) => used.all || used.names.has(column);
  const shown = { key: uses("key"), value: uses("value"), headers: uses("headers") };
  let left = rowsMax;
  for (let i = 0; i < spans.length && left > 0; i += 3) {
    const [partition, start, end] = [spans[i]!, spans[i + 1]!, spans[i + 2]!];
    for (const batch of batches(reader, id, partition, start, end)) {
      budget.bytesLeft -= batch.bytes.length;
      if (budget.bytesLeft < 0) throw tooMuch(name, budget.bytesMax);
      if (batch.header.baseOffset < start && !batch.seek(start - 1)) continue;
      while (left > 0 && batch.next() && batch.offset < end) {
        rows.add(recordCells(partition, batch, shown));
        left--;
      }
      if (left === 0) return;
      await nextTurn();
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

function recordCells(
  partition: number,
  record: BatchCursor,
  shown: Readonly<Record<"key" | "value" | "headers", boolean>>,
) {
  return [
    partition,
    record.offset,
    BigInt(Math.round(record.timestampMs)) * 1000n,
    shown.key ? bytesText(record.key) : undefined,
    shown.value ? bytesText(record.value) : undefined,
    shown.headers ? headersText(record.headers) : undefined,
  ];
}

/**
 * Text as it is. Bytes that are no UTF-8 are shown as DuckDB shows a BLOB, which `::BLOB` reads back: printable ASCII
 * as it is, every other byte as `\xHH`.
 */
function bytesText(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  if (isUtf8(bytes)) return bytes.toString("utf8");
  // A string that grows by each byte would take twenty times its length.
  const text = Buffer.allocUnsafe(4 * bytes.length);
  let length = 0;
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x5c;
    if (plain) text[length++] = byte;
    else length += text.write(`\\x${hexDigits[byte]}`, length, "latin1");
  }
  return text.toString("latin1", 0, length);
}

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase().padStart(2, "0"));

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
