import { createReadStream, existsSync } from "node:fs";
import type { CloudEvent, NewRecord } from "../../client/index.ts";
import { isWrittenNumber, parseExactly } from "../../client/json.ts";
import { CommandFailure, UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { type Line, readLines } from "../lines.ts";
import type { Run } from "../spec.ts";

const batchLimits = {
  records: 1_000,
  /** A request may have 16 MiB, and base64 takes a third more. */
  bytes: 4 * 1024 * 1024,
  /** Lines that come slowly, as from a log, are not held back for a full batch. */
  waitMs: 50,
} as const;

export const append: Run = async (context) => {
  const format = context.choice("format", ["lines", "json", "events", "whole"], "lines");
  const file = context.args[1];
  if (file !== undefined && file !== "-" && !existsSync(file)) {
    const hint = `check the path; records can also come from standard input: echo TEXT | native-engine stream append ${context.arg(0)}`;
    throw new CommandFailure("not_found", `there is no file ${file}`, hint);
  }
  const source: AsyncIterable<Buffer> =
    file === undefined || file === "-" ? context.io.stdin : createReadStream(file, { highWaterMark: 1024 * 1024 });
  const send = sender(context, format === "events");
  let records = 0;
  let requests = 0;
  const flush = async (batch: readonly unknown[]) => {
    if (batch.length === 0) return;
    await send(batch);
    records += batch.length;
    requests++;
  };
  if (format === "whole") {
    const pieces: Buffer[] = [];
    for await (const piece of source) pieces.push(piece);
    await flush([{ ...common(context), value: Buffer.concat(pieces) } satisfies NewRecord]);
  } else {
    const parse = parser(context, format);
    for await (const batch of batches(readLines(source))) await flush(batch.map(parse));
  }
  await context.out.value({ records, requests }, () => `appended ${records} ${records === 1 ? "record" : "records"}`);
  return undefined;
};

function sender(context: Context, events: boolean): (batch: readonly unknown[]) => Promise<unknown> {
  const stream = context.namespace.stream(context.arg(0));
  const partition = context.whole("partition");
  const { signal } = context;
  if (events) {
    const at = partition === undefined ? {} : { partition };
    return (batch) => stream.appendEvents(batch as CloudEvent[], { signal, ...at });
  }
  if (partition !== undefined) return (batch) => stream.append(partition, batch as NewRecord[], { signal });
  return (batch) => stream.appendByKey(batch as NewRecord[], { signal });
}

function common(context: Context): NewRecord {
  const key = context.text("key");
  const headers = context.all("header").map((each) => {
    const at = each.indexOf("=");
    if (at < 1) throw new UsageError(`--header ${each} must be NAME=VALUE`);
    return { key: each.slice(0, at), value: each.slice(at + 1) };
  });
  return { ...(key === undefined ? {} : { key }), ...(headers.length === 0 ? {} : { headers }) };
}

function parser(context: Context, format: "lines" | "json" | "events"): (line: Line) => unknown {
  const shared = common(context);
  const separator = context.text("key-separator");
  if (format === "events") return parseLine;
  if (format === "json") return (line) => ({ ...shared, ...recordOf(line) });
  return ({ text }) => {
    if (separator === undefined) return { ...shared, value: text };
    const at = text.indexOf(separator);
    return at < 0
      ? { ...shared, value: text }
      : { ...shared, key: text.slice(0, at), value: text.slice(at + separator.length) };
  };
}

function parseLine({ text, number }: Line): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    throw new CommandFailure("invalid_argument", `line ${number} is not JSON: ${(error as Error).message}`);
  }
}

function recordOf(line: Line): NewRecord {
  const wrong = (message: string) => new CommandFailure("invalid_argument", `line ${line.number}${message}`);
  const parsed = parseLine(line);
  if (!isObject(parsed)) throw wrong(" must be a JSON object");
  const { key, value, headers, timestamp_ms, ...rest } = parsed;
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) throw wrong(`: unknown field ${unknown}`);
  const listed = headers == null ? [] : headersOf(headers);
  if (listed === undefined) throw wrong(": headers must be an array of {key, value}, or an object");
  if (timestamp_ms != null && !Number.isSafeInteger(timestamp_ms)) throw wrong(": timestamp_ms must be an integer");
  return {
    ...(key == null ? {} : { key: textOf(key) }),
    ...(value == null ? {} : { value: textOf(value) }),
    ...(listed.length === 0 ? {} : { headers: listed }),
    ...(timestamp_ms == null ? {} : { timestampMs: timestamp_ms as number }),
  };
}

/** Headers as the API and `tail --json` have them, or as the members of an object; undefined for anything else. */
function headersOf(input: unknown): { key: string; value?: string }[] | undefined {
  const headers = isObject(input) ? Object.entries(input).map(([key, value]) => ({ key, value })) : input;
  if (!Array.isArray(headers)) return undefined;
  const listed: { key: string; value?: string }[] = [];
  for (const header of headers as unknown[]) {
    if (!isObject(header)) return undefined;
    const { key, value, ...rest } = header;
    if (typeof key !== "string" || Object.keys(rest).length > 0) return undefined;
    listed.push(value == null ? { key } : { key, value: textOf(value) });
  }
  return listed;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Lines in batches; a batch goes out when it is full, or when no line came for a while. */
async function* batches(lines: AsyncGenerator<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  let bytes = 0;
  let next = lines.next();
  for (;;) {
    const idle = batch.length === 0 ? undefined : timeout(batchLimits.waitMs);
    const step = await (idle === undefined ? next : Promise.race([next, idle.passed]));
    idle?.cancel();
    if (step !== "idle") {
      if (step.done) break;
      // A blank line, as at a file's end, is no record.
      if (step.value.text !== "") batch.push(step.value);
      bytes += step.value.text.length;
      next = lines.next();
      if (batch.length < batchLimits.records && bytes < batchLimits.bytes) continue;
    }
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function timeout(ms: number) {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<"idle">((resolve) => {
    timer = setTimeout(resolve, ms, "idle");
  });
  return { passed, cancel: () => clearTimeout(timer) };
}
