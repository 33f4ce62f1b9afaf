import { createReadStream, statSync } from "node:fs";
import { CommandFailure, UsageError } from "./command.ts";
import { Duck, jsonColumn, sqlName, sqlText } from "./duck.ts";
import { readLines } from "./lines.ts";

export type RowFormat = "jsonl" | "csv" | "parquet";
export const rowFormats: readonly RowFormat[] = ["jsonl", "csv", "parquet"];

/** How far a file was read. */
export interface Position {
  /** Rows, without blank lines. */
  readonly rows: number;
  /** Lines of JSONL, blank ones too; rows otherwise. */
  readonly lines: number;
  /** Of JSONL. */
  readonly bytes: number;
}

export const atStart: Position = { rows: 0, lines: 0, bytes: 0 };

export interface Row {
  /** JSON text. */
  readonly text: string;
  /** From 1, as editors and DuckDB count. */
  readonly line: number;
  /** Where the next one starts. */
  readonly after: Position;
}

/** A file of rows that can be read from any position it was left at. */
export interface RowSource {
  read(from: Position): AsyncGenerator<Row>;
  /** How much of the file a position is, from 0 to 1; undefined where the whole is not known. */
  share(position: Position): number | undefined;
}

export function formatOf(file: string, option: string | undefined): RowFormat {
  if (option !== undefined) {
    const found = rowFormats.find((each) => each === option);
    if (found === undefined) throw new UsageError(`--format must be one of ${rowFormats.join(", ")}`);
    return found;
  }
  if (/\.(?:jsonl|ndjson|json)$/i.test(file) || file === "-") return "jsonl";
  if (/\.(?:csv|tsv)(?:\.gz)?$/i.test(file)) return "csv";
  if (/\.(?:parquet|pq)$/i.test(file)) return "parquet";
  throw new UsageError(`the format of ${file} can't be determined from its name; give --format`);
}

export function openRows(file: string, format: RowFormat, stdin: AsyncIterable<Uint8Array>): RowSource {
  if (format === "jsonl") return file === "-" ? new LinesOfInput(stdin) : new LinesOfFile(file);
  if (file === "-") throw new UsageError(`${format} can't be read from standard input; give a file`);
  return new RowsOfDuck(file, format);
}

async function* rowsOfLines(pieces: AsyncIterable<Uint8Array>, from: Position): AsyncGenerator<Row> {
  let { rows } = from;
  for await (const { text, number, end } of readLines(pieces, from)) {
    if (text.trim() === "") continue;
    rows++;
    yield { text, line: number, after: { rows, lines: number, bytes: end } };
  }
}

class LinesOfFile implements RowSource {
  readonly #file: string;
  readonly #bytes: number;

  constructor(file: string) {
    this.#file = file;
    this.#bytes = statSync(file).size;
  }

  read(from: Position): AsyncGenerator<Row> {
    return rowsOfLines(createReadStream(this.#file, { start: from.bytes, highWaterMark: 1024 * 1024 }), from);
  }

  share({ bytes }: Position): number {
    return this.#bytes === 0 ? 1 : bytes / this.#bytes;
  }
}

/** Standard input has no positions: what was imported already is read over. */
class LinesOfInput implements RowSource {
  readonly #pieces: AsyncIterable<Uint8Array>;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces;
  }

  async *read(from: Position): AsyncGenerator<Row> {
    for await (const row of rowsOfLines(this.#pieces, atStart)) if (row.after.rows > from.rows) yield row;
  }

  share(): undefined {
    return undefined;
  }
}

/** Counting the rows of a larger CSV first would take longer than knowing how many is worth. */
const countedBytesMax = 512 * 1024 * 1024;

class RowsOfDuck implements RowSource {
  readonly #file: string;
  readonly #from: string;
  readonly #counts: boolean;
  #rows: number | undefined;

  constructor(file: string, format: "csv" | "parquet") {
    this.#file = file;
    // A quoted empty text is a text, not a missing value.
    const text = sqlText(file);
    this.#from = format === "csv" ? `read_csv(${text}, allow_quoted_nulls = false)` : `read_parquet(${text})`;
    this.#counts = format === "parquet" || statSync(file).size <= countedBytesMax;
  }

  async *read(from: Position): AsyncGenerator<Row> {
    await using duck = await Duck.open();
    const columns = await duck.rows(`DESCRIBE SELECT * FROM ${this.#from}`);
    if (columns.length === 0) throw new CommandFailure("invalid_argument", `${this.#file} has no columns`);
    if (this.#counts) {
      const [counted] = await duck.rows(`SELECT count(*)::DOUBLE AS rows FROM ${this.#from}`);
      this.#rows = Number(counted!["rows"]);
    }
    const members = columns.map(({ column_name, column_type }) => {
      const name = String(column_name);
      return `${sqlName(name)}: ${jsonColumn(name, String(column_type))}`;
    });
    let { rows } = from;
    const sql = `SELECT to_json({${members.join(", ")}})::VARCHAR FROM ${this.#from} OFFSET ${rows}`;
    for await (const text of duck.texts(sql)) {
      rows++;
      yield { text, line: rows, after: { rows, lines: rows, bytes: 0 } };
    }
  }

  share({ rows }: Position): number | undefined {
    return this.#rows === undefined ? undefined : this.#rows === 0 ? 1 : rows / this.#rows;
  }
}
