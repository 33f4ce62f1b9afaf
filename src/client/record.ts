import { fromBase64, toBase64 } from "./bytes.ts";
import type { NewRecord, RecordFormat, StoredRecord } from "./types.ts";

interface PartJson {
  readonly key?: string;
  readonly value?: unknown;
  readonly key_base64?: string;
  readonly value_base64?: string;
}

/** A record as the server sends it. */
export interface RecordJson extends PartJson {
  readonly offset: number;
  readonly timestamp_ms: number;
  readonly headers?: readonly (PartJson & { readonly key: string })[];
}

export function formatQuery(format: RecordFormat = "bytes"): { readonly format?: string } {
  return format === "bytes" ? {} : { format };
}

export function recordJson<F extends RecordFormat>(record: NewRecord<F>, format: RecordFormat = "bytes") {
  const { key, value, headers, timestampMs } = record;
  const others = format === "json" ? "text" : format;
  return {
    ...partJson("key", key, others),
    ...partJson("value", value, format),
    ...(headers === undefined
      ? {}
      : { headers: headers.map((header) => ({ key: header.key, ...partJson("value", header.value, others) })) }),
    ...(timestampMs === undefined ? {} : { timestamp_ms: timestampMs }),
  };
}

function partJson(name: "key" | "value", part: unknown, format: RecordFormat) {
  if (part === undefined) return {};
  if (part instanceof Uint8Array) return { [format === "bytes" ? name : `${name}_base64`]: toBase64(part) };
  return { [name]: format === "bytes" ? toBase64(part as string) : part };
}

export function storedRecord<F extends RecordFormat>(
  partition: number,
  record: RecordJson,
  format: F | undefined,
): StoredRecord<F> {
  const { offset, timestamp_ms, headers } = record;
  return {
    partition,
    offset,
    timestampMs: timestamp_ms,
    key: storedPart("key", record, format),
    value: storedPart("value", record, format),
    headers: (headers ?? []).map((header) => ({ key: header.key, value: storedPart("value", header, format) })),
  } as StoredRecord<F>;
}

function storedPart(name: "key" | "value", parts: PartJson, format: RecordFormat = "bytes"): unknown {
  const encoded = parts[`${name}_base64`];
  if (encoded !== undefined) return fromBase64(encoded);
  const part = parts[name];
  return format === "bytes" && part !== undefined ? fromBase64(part as string) : part;
}
