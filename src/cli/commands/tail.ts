import type { From, StoredRecord } from "../../client/index.ts";
import { UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { cell } from "../output.ts";
import type { Run } from "../spec.ts";

const linesDefault = 10;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Where to begin, from `--from`. */
export function parseFrom(text: string): From {
  if (text === "start" || text === "end") return text;
  if (/^\d+$/.test(text)) return Number(text);
  const timestampMs = Date.parse(text);
  if (Number.isNaN(timestampMs)) throw new UsageError(`--from ${text} is neither start, end, an offset nor a time`);
  return { timestampMs };
}

export const tail: Run = async (context) => {
  const stream = context.namespace.stream(context.arg(0));
  const { signal } = context;
  const option = context.text("from");
  const lines = context.whole("lines") ?? linesDefault;
  const only = context.whole("partition");
  const { partitions } = await stream.get({ signal });
  const chosen = partitions.filter(({ partition }) => only === undefined || partition === only);
  if (chosen.length === 0) throw new UsageError(`there is no partition ${only}`);
  const follow = context.flag("follow");
  const starts = chosen.map(({ partition, log_start_offset, high_watermark }) => ({
    partition,
    from: option === undefined ? Math.max(log_start_offset, high_watermark - lines) : parseFrom(option),
  }));
  for (const { partition, from } of starts) {
    if (follow) break;
    for await (const record of stream.read({ partition, from, signal })) await show(context, record);
  }
  if (!follow) return undefined;
  await Promise.all(
    starts.map(async ({ partition, from }) => {
      for await (const record of stream.tail({ partition, from, signal })) await show(context, record);
    }),
  );
  return undefined;
};

async function show(context: Context, record: StoredRecord): Promise<void> {
  const { out } = context;
  if (out.json) await out.line(JSON.stringify(recordJson(record)));
  else if (context.flag("values")) {
    await out.write(record.value ?? new Uint8Array());
    await out.write("\n");
  } else {
    const { partition, offset, timestampMs, key, value } = record;
    const time = timeOf(timestampMs);
    const shownKey = key === undefined ? "" : `${cell(textOf(key))}  `;
    await out.line(
      `${partition}/${offset}  ${time}  ${shownKey}${value === undefined ? "(no value)" : cell(textOf(value))}`,
    );
  }
}

/** A writer may give a time that no calendar has. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** Text where it is text, base64 where it is not. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return `base64:${Buffer.from(bytes).toString("base64")}`;
  }
}

/** A record as the API has it, but what is text as text. */
export function recordJson({ partition, offset, timestampMs, key, value, headers }: StoredRecord) {
  const bytes = (name: string, content: Uint8Array | undefined) => {
    if (content === undefined) return {};
    try {
      return { [name]: decoder.decode(content) };
    } catch {
      return { [`${name}_base64`]: Buffer.from(content).toString("base64") };
    }
  };
  return {
    partition,
    offset,
    timestamp_ms: timestampMs,
    ...bytes("key", key),
    ...bytes("value", value),
    ...(headers.length === 0
      ? {}
      : { headers: headers.map((header) => ({ key: header.key, ...bytes("value", header.value) })) }),
  };
}
