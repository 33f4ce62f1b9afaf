import { once } from "node:events";
import { createWriteStream, renameSync, rmSync } from "node:fs";
import { finished } from "node:stream/promises";
import type { Document, Filter } from "../../client/index.ts";
import { CommandFailure, UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { csvLine } from "../csv.ts";
import { Duck, sqlText } from "../duck.ts";
import { Progress } from "../progress.ts";
import { formatOf, type RowFormat } from "../rows.ts";
import type { Run } from "../spec.ts";
import { parseFrom, recordJson } from "./tail.ts";

type Json = Readonly<Record<string, unknown>>;

const pageDocuments = 1_000;

export const exportRows: Run = async (context) => {
  const file = context.args[0] ?? "-";
  const format = formatOf(file, context.text("format") ?? (file === "-" ? "jsonl" : undefined));
  const collection = context.text("collection");
  const stream = context.text("stream");
  if ((collection === undefined) === (stream === undefined)) {
    throw new UsageError("give either --collection or --stream");
  }
  if (format === "parquet" && file === "-") throw new UsageError("parquet needs a FILE");
  const rows = stream === undefined ? documents(context, collection!, format) : records(context, stream);
  const progress = new Progress(context.io.stderr, "rows", 0);
  let count = 0;
  const counted = (async function* () {
    for await (const row of rows) {
      yield row;
      progress.update(++count, undefined);
    }
  })();
  try {
    if (file === "-") await writeOut(context, counted, format);
    else await writeFile(file, counted, format);
  } finally {
    progress.end();
  }
  if (file !== "-")
    await context.out.value(
      { rows: count, file },
      () => `exported ${count} ${count === 1 ? "row" : "rows"} to ${file}`,
    );
  return undefined;
};

/** JSONL holds a document as it is; tables hold its fields and vectors as columns. */
async function* documents(context: Context, name: string, format: RowFormat): AsyncGenerator<Json> {
  const filter = context.jsonOption("filter") as Filter | undefined;
  const collection = context.namespace.collection(name);
  const { signal } = context;
  const { schema } = await collection.info({ signal });
  const names = [
    "_id",
    ...schema.fields.map((field) => (field.source_path ?? field.name).split(".")[0]!),
    ...schema.vectors.map((vector) => vector.name),
    ...schema.sparse_vectors.map((vector) => vector.name),
  ];
  const scroll = collection.scroll({ pageSize: pageDocuments, signal, ...(filter === undefined ? {} : { filter }) });
  for await (const document of scroll) {
    yield format === "jsonl" ? (document as unknown as Json) : tableRow(document, names);
  }
}

function tableRow({ id, source, vectors, sparse_vectors }: Document, names: readonly string[]): Json {
  const values: Json = { ...source, ...vectors, ...sparse_vectors, _id: id };
  return Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
}

async function* records(context: Context, name: string): AsyncGenerator<Json> {
  const stream = context.namespace.stream(name);
  const { signal } = context;
  const from = parseFrom(context.text("from") ?? "start");
  const only = context.whole("partition");
  const { partitions } = await stream.get({ signal });
  for (const { partition } of partitions) {
    if (only !== undefined && partition !== only) continue;
    for await (const record of stream.read({ partition, from, signal })) yield recordJson(record);
  }
}

async function writeOut(context: Context, rows: AsyncIterable<Json>, format: RowFormat): Promise<void> {
  let first = true;
  for await (const row of rows) {
    if (format === "jsonl") await context.out.line(JSON.stringify(row));
    else {
      if (first) await context.out.line(csvLine(Object.keys(row)));
      await context.out.line(csvLine(Object.values(row)));
    }
    first = false;
  }
}

/** The file appears when it is whole. Parquet is made by DuckDB from a file of JSON beside it. */
async function writeFile(file: string, rows: AsyncIterable<Json>, format: RowFormat): Promise<void> {
  const partial = `${file}.partial`;
  const lines = format === "parquet" ? `${partial}.jsonl` : partial;
  try {
    const out = createWriteStream(lines, { mode: 0o600 });
    // Found when it is first written to; without a listener it would end the process.
    const ended = finished(out);
    ended.catch(() => {});
    let count = 0;
    for await (const row of rows) {
      const header = format === "csv" && count === 0 ? `${csvLine(Object.keys(row))}\n` : "";
      const line = format === "csv" ? csvLine(Object.values(row)) : JSON.stringify(row);
      count++;
      if (!out.write(`${header}${line}\n`)) {
        await Promise.race([once(out, "drain"), ended]);
      }
    }
    out.end();
    await ended;
    if (format === "parquet") await copyTable(lines, partial, count);
    renameSync(partial, file);
  } finally {
    rmSync(lines, { force: true });
    rmSync(partial, { force: true });
  }
}

async function copyTable(lines: string, to: string, count: number): Promise<void> {
  if (count === 0) throw new CommandFailure("failed_precondition", "there is nothing to export");
  await using duck = await Duck.open();
  const from = `read_json(${sqlText(lines)}, format = 'newline_delimited', sample_size = -1, maximum_object_size = 67108864)`;
  await duck.rows(`COPY (SELECT * FROM ${from}) TO ${sqlText(to)} (FORMAT parquet, COMPRESSION zstd)`);
}
