import type { SqlBatch, SqlColumn } from "../../../engine/sql/batch.ts";
import type { MessageWriter } from "../message/writer.ts";
import { type RowWriter, rowCells } from "../value/row.ts";
import { isNull, slice, type TextStyle, textReader } from "../value/text.ts";
import type { CopyOptions } from "./command.ts";

/**
 * The rows of a COPY, each a CopyData message (`d`): in text and CSV a line, in binary what a DataRow has for its body,
 * with a header before the first and an end (two bytes, -1) after the last.
 */
export class CopyEncoder {
  readonly #options: CopyOptions;
  readonly #names: readonly string[];
  readonly #style: TextStyle;
  #hasBegun = false;

  constructor(options: CopyOptions, names: readonly string[], style: TextStyle) {
    this.#options = options;
    this.#names = names;
    this.#style = style;
  }

  begin(out: MessageWriter): void {
    const { format, hasHeader, delimiter } = this.#options;
    if (format === "binary" || !hasHeader) return;
    const isAlone = this.#names.length === 1;
    const cells = this.#names.map((name) => (format === "csv" ? this.#csv(name, false, isAlone) : this.#escaped(name)));
    out
      .begin("d")
      .text(`${cells.join(delimiter)}\n`)
      .end();
  }

  finish(out: MessageWriter): void {
    if (this.#options.format === "binary") this.#beginBinary(out).int16(-1).end();
  }

  /** As in Postgres, whose drivers rely on it, the header is in one message with the first row or, without any, the end. */
  #beginBinary(out: MessageWriter): MessageWriter {
    out.begin("d");
    if (this.#hasBegun) return out;
    this.#hasBegun = true;
    // Signature, flags: int32, length of an extension: int32
    return out.raw(signature).int32(0).int32(0);
  }

  readonly encode = (batch: SqlBatch): RowWriter => {
    if (this.#options.format === "binary") {
      const write = rowCells(batch, [1], this.#style);
      return (out, row) => {
        write(this.#beginBinary(out), row);
        out.end();
      };
    }
    const cells = batch.columns.map((column, i) => this.#cell(column, i));
    const { delimiter } = this.#options;
    return (out, row) => {
      out.begin("d");
      for (let i = 0; i < cells.length; i++) {
        if (i > 0) out.ascii(delimiter);
        cells[i]!(out, row);
      }
      out.ascii("\n").end();
    };
  };

  #cell(column: SqlColumn, i: number): RowWriter {
    const { format, nullText, forceQuote } = this.#options;
    const isForced = forceQuote === "all" || forceQuote.includes(this.#names[i] ?? "");
    const isAlone = this.#names.length === 1;
    const read = textReader(column, this.#style);
    const form =
      format === "csv" ? (text: string) => this.#csv(text, isForced, isAlone) : (text: string) => this.#escaped(text);
    const isPlain = format === "text" && column.layout === "bytes" && column.type.kind !== "bytes";
    const special = specialBytes(this.#options.delimiter);
    return (out, row) => {
      if (isNull(column, row)) {
        out.text(nullText);
        return;
      }
      // Text without signs that need an escape goes out as it is, without becoming a string on the way.
      const bytes = isPlain ? slice(column, row) : undefined;
      if (bytes?.every((byte) => special[byte] === 0)) out.raw(bytes);
      else out.text(form(read(row)));
    };
  }

  #escaped(text: string): string {
    const { delimiter } = this.#options;
    // A tab has become its escape by then; no escape has a sign that may be the delimiter.
    return text.replace(/[\\\b\f\n\r\t\v]/g, (sign) => escapes[sign]!).replaceAll(delimiter, `\\${delimiter}`);
  }

  #csv(text: string, isForced: boolean, isAlone: boolean): string {
    const { delimiter, quote, escape: escaping, nullText } = this.#options;
    const isQuoted =
      isForced ||
      text === nullText ||
      // Alone on a line it would end the data.
      (isAlone && text === "\\.") ||
      text.includes(delimiter) ||
      text.includes(quote) ||
      /[\r\n]/.test(text);
    if (!isQuoted) return text;
    const inner = escaping === quote ? text : text.replaceAll(escaping, escaping + escaping);
    return quote + inner.replaceAll(quote, escaping + quote) + quote;
  }
}

const signature = Buffer.from("PGCOPY\n\xff\r\n\0", "latin1");

const escapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

function specialBytes(delimiter: string): Uint8Array {
  const special = new Uint8Array(256);
  for (const sign of Object.keys(escapes)) special[sign.charCodeAt(0)] = 1;
  special[delimiter.charCodeAt(0)] = 1;
  return special;
}
