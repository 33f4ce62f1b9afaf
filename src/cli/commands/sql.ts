import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { ServiceError, type SqlReply } from "../../client/index.ts";
import { parseExactly } from "../../client/json.ts";
import { UsageError } from "../command.ts";
import { type Context, readText } from "../context.ts";
import { csvLine } from "../csv.ts";
import { cell, formatTable } from "../output.ts";
import type { Run } from "../spec.ts";
import { StatementReader } from "../statements.ts";

const historyLinesMax = 1_000;

export const sql: Run = async (context) => {
  const command = context.text("command");
  if (command !== undefined) {
    const statement = command === "-" ? readText("-") : command;
    const asked = context.namespace.sql(statement, params(context), { signal: context.signal });
    const reply = await asked.catch((error: unknown) => {
      if (error instanceof ServiceError) error.message += caret(error, statement);
      throw error;
    });
    await show(context, reply, false);
    return undefined;
  }
  if (context.args.length > 0) throw new UsageError(`the statement goes after -c: ${asCommand(context)}`);
  return await interactive(context);
};

/** What was most likely meant, for the shell: a statement without -c, perhaps without quotes, or parameters alone. */
function asCommand({ args }: Context): string {
  const [first = "", ...rest] = args;
  if (!/^\W*[a-z]+/i.test(first)) return ["native-engine sql -c SQL", ...args].join(" ");
  const [statement, params] = /\s/.test(first) ? [first, rest] : [args.join(" "), []];
  const quoted = [statement, ...params].map((each) => `'${each.replaceAll("'", "'\\''")}'`);
  return `native-engine sql -c ${quoted.join(" ")}`;
}

/** Columns of a statement's line that are shown around a fault. */
const caretColumns = 76;

/** The line of the statement that is at fault and a mark below the place, where the server names one. */
export function caret({ details, message }: ServiceError, statement: string): string {
  const { position } = (details["sql"] ?? {}) as { readonly position?: unknown };
  if (typeof position !== "number" || position < 0 || position > statement.length || message.includes("^")) return "";
  const from = statement.lastIndexOf("\n", position - 1) + 1;
  const [line = ""] = statement.slice(from).split("\n", 1);
  const column = position - from;
  const cut = Math.max(0, Math.min(column - caretColumns / 2, line.length - caretColumns));
  const shown = line.slice(cut, cut + caretColumns).replaceAll("\t", " ");
  return `\n  ${shown}\n  ${" ".repeat(column - cut)}^`;
}

/** Numbers and JSON words are what they look like; everything else is text. */
function params(context: Context): unknown[] | undefined {
  if (context.args.length === 0) return undefined;
  return context.args.map((arg) => {
    try {
      return parseExactly(arg);
    } catch {
      return arg;
    }
  });
}

async function show(context: Context, reply: SqlReply, onTheirSide: boolean): Promise<void> {
  const { out } = context;
  const names = reply.columns.map(({ name }) => name);
  if (out.json) return await out.line(JSON.stringify(reply));
  if (context.flag("csv")) {
    await out.line(csvLine(names));
    for (const row of reply.rows) await out.line(csvLine(names.map((name) => row[name])));
    return;
  }
  const count = `(${reply.row_count} ${reply.row_count === 1 ? "row" : "rows"})`;
  if (onTheirSide) {
    const width = Math.max(0, ...names.map((name) => name.length));
    const rows = reply.rows.map((row, i) =>
      [`── row ${i + 1}`, ...names.map((name) => `${name.padEnd(width)}  ${cell(row[name])}`)].join("\n"),
    );
    return await out.line([...rows, count].join("\n"));
  }
  const rows = reply.rows.map((row) => names.map((name) => cell(row[name])));
  await out.line(`${formatTable(names, rows)}\n${count}`);
}

const tablesQuery = `SELECT table_schema, table_name FROM information_schema.tables
  WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY table_schema, table_name`;

async function interactive(context: Context): Promise<number | undefined> {
  const { stdin, stdout } = context.io;
  const history = new History(context.env);
  const terminal = stdin.isTTY === true && stdout.isTTY === true;
  const lines = createInterface({
    input: stdin,
    ...(terminal ? { output: stdout, history: history.load(), historySize: historyLinesMax } : {}),
    terminal,
  });
  const reader = new StatementReader();
  let onTheirSide = false;
  let failed = false;
  const prompt = () => {
    if (!terminal) return;
    lines.setPrompt(reader.isOpen ? "… " : `${context.namespaceName}=> `);
    lines.prompt();
  };
  lines.on("SIGINT", () => {
    reader.clear();
    stdout.write("\n");
    prompt();
  });
  if (terminal) context.out.note(`${context.url}; \\? for help, \\q to quit`);
  prompt();
  for await (const line of linesOf(lines)) {
    if (!reader.isOpen && line.trim().startsWith("\\")) {
      const [word = "", ...rest] = line.trim().split(/\s+/);
      if (word === "\\q") break;
      if (word === "\\x") onTheirSide = !onTheirSide;
      else failed = !(await meta(context, word, rest.join(" "))) || failed;
    } else {
      if (terminal && line.trim() !== "") history.add(line);
      for (const statement of reader.add(line)) failed = !(await ask(context, statement, onTheirSide)) || failed;
    }
    prompt();
  }
  const rest = reader.rest();
  if (rest !== "") failed = !(await ask(context, rest, onTheirSide)) || failed;
  lines.close();
  // A script that is piped in tells of its failure; a person has seen it.
  return failed && !terminal ? 1 : undefined;
}

/** Node's own iterator of lines loses those that come while a statement runs. */
async function* linesOf(lines: Interface): AsyncGenerator<string> {
  const waiting: string[] = [];
  let wake = () => {};
  let ended = false;
  lines.on("line", (line) => {
    waiting.push(line);
    wake();
  });
  lines.on("close", () => {
    ended = true;
    wake();
  });
  for (;;) {
    const next = waiting.shift();
    if (next !== undefined) yield next;
    else if (ended) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

async function ask(context: Context, statement: string, onTheirSide: boolean): Promise<boolean> {
  try {
    await show(context, await context.namespace.sql(statement, undefined, { signal: context.signal }), onTheirSide);
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.out.note(`${error.reason}: ${error.message}${caret(error, statement)}`);
    return false;
  }
}

async function meta(context: Context, word: string, rest: string): Promise<boolean> {
  switch (word) {
    case "\\dt":
      return await ask(context, tablesQuery, false);
    case "\\d":
      return await ask(context, rest === "" ? tablesQuery : `DESCRIBE ${quoted(rest)}`, false);
    case "\\?":
      context.out.note("\\dt tables · \\d TABLE columns · \\x vertical rows · \\q quit · a statement ends with ;");
      return true;
    default:
      context.out.note(`${word} is not a command; \\? for help`);
      return false;
  }
}

/** Each part of a dotted name in quotes, unless it has its own. */
function quoted(name: string): string {
  return name
    .replace(/;$/, "")
    .split(".")
    .map((part) => (part.startsWith('"') ? part : `"${part.replaceAll('"', '""')}"`))
    .join(".");
}

/** The lines of earlier sessions, newest first in memory, oldest first in the file. */
class History {
  readonly #file: string;

  constructor(env: NodeJS.ProcessEnv) {
    this.#file = env["SERVICE_HISTORY_FILE"] ?? join(homedir(), ".native-engine_history");
  }

  load(): string[] {
    try {
      const lines = readFileSync(this.#file, "utf8").split("\n").filter(Boolean);
      const newest = lines.slice(-historyLinesMax);
      if (lines.length > 2 * historyLinesMax) writeFileSync(this.#file, `${newest.join("\n")}\n`, { mode: 0o600 });
      return newest.reverse();
    } catch {
      return [];
    }
  }

  add(line: string): void {
    try {
      appendFileSync(this.#file, `${line}\n`, { mode: 0o600 });
    } catch {
      // A session without a history is a session still.
    }
  }
}
