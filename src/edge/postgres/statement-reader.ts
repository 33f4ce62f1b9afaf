import { type Command, parseCommand } from "./command.ts";
import { type StatementText, splitStatements, statementPart } from "./dialect/lexer.ts";
import { explainedStatement, parseExplain } from "./explain.ts";
import { filledText, parseExecute } from "./prepare-command.ts";
import type { PreparedStatement, PreparedStatements } from "./prepared-statements.ts";
import type { Settings } from "./settings.ts";

export type ReadStatement = Pick<PreparedStatement, "source" | "statement" | "command">;

/** Tells what a session's statements are, and knows those that were prepared. */
export class StatementReader {
  readonly #settings: Settings;
  readonly #statements: PreparedStatements;

  constructor(settings: Settings, statements: PreparedStatements) {
    this.#settings = settings;
    this.#statements = statements;
  }

  /** What a statement of the client is: one that explains or executes another stands for that one. */
  read(source: string, statement: StatementText): ReadStatement {
    const explain = parseExplain(statement);
    const inner = explain === undefined ? statement : statementPart(statement, explain.at);
    const executed = parseExecute(inner);
    if (explain === undefined && executed === undefined) return { source, statement, command: this.#parse(statement) };
    const text = executed === undefined ? inner.text : filledText(this.#statements.get(executed.name), executed);
    if (explain === undefined) {
      const [filled] = splitStatements(text);
      const command: Command = filled === undefined ? { kind: "query" } : this.#parse(filled);
      return { source: text, statement: filled, command };
    }
    // The places of what was executed are not in the client's text.
    const start = executed === undefined ? inner.start : explain.prefix.length;
    const explained = explainedStatement(explain.prefix, text, start);
    const command: Command = { kind: "query", explain: explain.format };
    return { source: executed === undefined ? source : explained.text, statement: explained, command };
  }

  #parse(statement: StatementText): Command {
    const command = parseCommand(statement, (name) => this.#settings.has(name));
    if (command.kind === "refused") throw command.error;
    return command;
  }
}
