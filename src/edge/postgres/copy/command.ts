import type { StatementText } from "../dialect/lexer.ts";
import { madeStatement, statementPart } from "../dialect/lexer.ts";
import { PostgresError } from "../error.ts";
import type { TokenReader } from "../token-reader.ts";

/** `COPY … TO STDOUT`: what it reads, and the form that the rows take. */
export interface CopyCommand {
  readonly kind: "copy";
  readonly query: StatementText;
  readonly options: CopyOptions;
}

export interface CopyOptions {
  readonly format: "text" | "csv" | "binary";
  readonly delimiter: string;
  /** What stands for NULL. */
  readonly nullText: string;
  readonly hasHeader: boolean;
  readonly quote: string;
  readonly escape: string;
  /** Columns whose values are always in quotes. */
  readonly forceQuote: "all" | readonly string[];
}

/**
 *     COPY { table [ ( column, … ) ] | ( query ) } TO STDOUT [ [ WITH ] ( option, … ) | [ WITH ] option … ]
 *
 * with the options in brackets of today or those of before version 9, which drivers still write.
 */
export function parseCopy(statement: StatementText, reader: TokenReader): CopyCommand {
  const binary = reader.skip("binary");
  const query = reader.isSymbol("(") ? queryOf(statement, reader) : tableOf(statement, reader);
  if (reader.skip("from")) throw new PostgresError("25006", "cannot execute COPY FROM in a read-only transaction");
  if (!reader.skip("to")) throw reader.syntaxError();
  if (!reader.skip("stdout")) {
    throw new PostgresError("42501", "COPY writes to STDOUT alone", { hint: "psql's \\copy writes a client's file." });
  }
  const options = new Map<string, OptionValue>(binary ? [["format", "binary"]] : []);
  if (reader.skip("delimiters") || reader.skip("using")) {
    reader.skip("delimiters");
    options.set("delimiter", reader.value());
  }
  reader.skip("with");
  if (reader.isSymbol("(")) bracketedOptions(reader, options);
  else looseOptions(reader, options);
  if (!reader.isAtEnd) throw reader.syntaxError();
  return { kind: "copy", query, options: optionsOf(options) };
}

type OptionValue = string | readonly string[];

function queryOf(statement: StatementText, reader: TokenReader): StatementText {
  const { from, to } = reader.brackets();
  return statementPart(statement, from, to);
}

/** A table is read as `FROM table`, which leaves the places of its name as they are. */
function tableOf(statement: StatementText, reader: TokenReader): StatementText {
  const start = reader.position;
  reader.dottedName();
  const end = reader.end;
  let columns = "";
  if (reader.isSymbol("(")) {
    const { from, to } = reader.brackets();
    columns = ` SELECT ${statement.text.slice(from, to)}`;
  }
  const select = madeStatement(`FROM ${statement.text.slice(start, end)}${columns}`, statement.start + start - 5);
  if (select === undefined) throw reader.syntaxError();
  return select;
}

function bracketedOptions(reader: TokenReader, options: Map<string, OptionValue>): void {
  reader.expectSymbol("(");
  do {
    const name = reader.name().toLowerCase();
    if (options.has(name)) throw new PostgresError("42601", "conflicting or redundant options");
    if (reader.isSymbol("(")) options.set(name, names(reader));
    else if (reader.skipSymbol("*")) options.set(name, "*");
    else options.set(name, reader.isSymbol(",") || reader.isSymbol(")") ? "true" : reader.value());
  } while (reader.skipSymbol(","));
  reader.expectSymbol(")");
}

function looseOptions(reader: TokenReader, options: Map<string, OptionValue>): void {
  while (!reader.isAtEnd) {
    const word = reader.word();
    switch (word) {
      case "binary":
      case "csv":
        options.set("format", word);
        break;
      case "header":
        options.set("header", "true");
        break;
      case "delimiter":
      case "null":
      case "quote":
      case "escape":
        reader.skip("as");
        options.set(word, reader.value());
        break;
      case "encoding":
        options.set("encoding", reader.value());
        break;
      case "force":
        if (!reader.skip("quote")) throw reader.syntaxError();
        options.set("force_quote", reader.skipSymbol("*") ? "*" : reader.nameList());
        break;
      default:
        throw reader.syntaxError();
    }
  }
}

function names(reader: TokenReader): readonly string[] {
  reader.expectSymbol("(");
  const list = reader.nameList();
  reader.expectSymbol(")");
  return list;
}

const known = new Set("format freeze delimiter null header quote escape force_quote encoding".split(" "));

function optionsOf(settings: ReadonlyMap<string, OptionValue>): CopyOptions {
  for (const name of settings.keys()) {
    if (known.has(name)) continue;
    throw new PostgresError("42601", `option "${name}" not recognized`);
  }
  const format = textOf(settings, "format")?.toLowerCase() ?? "text";
  if (format !== "text" && format !== "csv" && format !== "binary") {
    throw new PostgresError("22023", `COPY format "${format}" not recognized`);
  }
  const isCsv = format === "csv";
  for (const name of ["quote", "escape", "force_quote"]) {
    if (!isCsv && settings.has(name)) throw new PostgresError("0A000", `COPY ${name.toUpperCase()} requires CSV mode`);
  }
  for (const name of ["delimiter", "null", "header"]) {
    if (format === "binary" && settings.has(name)) {
      throw new PostgresError("42601", `cannot specify ${name.toUpperCase()} in BINARY mode`);
    }
  }
  const encoding = textOf(settings, "encoding");
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) {
    throw new PostgresError("0A000", `all text is UTF-8, so it can't be ${encoding}`);
  }
  const quote = oneByte(settings, "quote") ?? '"';
  const force = settings.get("force_quote") ?? [];
  const options: CopyOptions = {
    format,
    delimiter: oneByte(settings, "delimiter") ?? (isCsv ? "," : "\t"),
    nullText: textOf(settings, "null") ?? (isCsv ? "" : "\\N"),
    hasHeader: isTrue(textOf(settings, "header")),
    quote,
    escape: oneByte(settings, "escape") ?? quote,
    forceQuote: typeof force === "string" ? "all" : force,
  };
  checkSigns(options);
  return options;
}

/** What would make an answer that can't be read again. */
function checkSigns({ format, delimiter, nullText, quote }: CopyOptions): void {
  if (format === "binary") return;
  if (/[\r\n]/.test(delimiter + nullText)) {
    throw new PostgresError("22023", "COPY delimiter and null representation cannot use newline or carriage return");
  }
  if (format === "text" && /[\\.a-z0-9]/.test(delimiter)) {
    throw new PostgresError("22023", `COPY delimiter cannot be "${delimiter}"`);
  }
  if (format === "csv" && delimiter === quote) {
    throw new PostgresError("22023", "COPY delimiter and quote must be different");
  }
  if (nullText.includes(delimiter) || (format === "csv" && nullText.includes(quote))) {
    throw new PostgresError("22023", "COPY delimiter and quote must not appear in the NULL specification");
  }
}

function textOf(options: ReadonlyMap<string, OptionValue>, name: string): string | undefined {
  const value = options.get(name);
  if (value === undefined || typeof value === "string") return value;
  throw new PostgresError("42601", `COPY ${name.toUpperCase()} takes one value`);
}

function oneByte(options: ReadonlyMap<string, OptionValue>, name: string): string | undefined {
  const value = textOf(options, name);
  if (value === undefined || Buffer.byteLength(value) === 1) return value;
  throw new PostgresError("22023", `COPY ${name} must be a single one-byte character`);
}

function isTrue(value: string | undefined): boolean {
  if (value === undefined || /^(?:false|off|0)$/i.test(value)) return false;
  if (/^(?:true|on|1)$/i.test(value)) return true;
  throw new PostgresError("42601", "COPY HEADER requires a Boolean value");
}
