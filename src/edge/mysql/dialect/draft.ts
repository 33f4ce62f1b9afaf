import { Brackets } from "../../../engine/sql/brackets.ts";
import { isOperator, type MysqlToken } from "./lexer.ts";

/** The words of a statement and what each becomes; an empty text drops one. */
export class Draft {
  readonly source: string;
  readonly tokens: readonly MysqlToken[];
  readonly out: string[];
  readonly #brackets: Brackets;

  constructor(source: string, tokens: readonly MysqlToken[]) {
    this.source = source;
    this.tokens = tokens;
    this.out = tokens.map(({ value }) => value);
    this.#brackets = new Brackets(
      tokens.length,
      (i) => sideOf(tokens[i]!),
      (i) => tokens[i]!.start,
    );
  }

  text(from = 0, to = this.out.length): string {
    const parts: string[] = [];
    // Of what was put together last, and not of the whole: asking a text for its end copies all of it.
    let last = "";
    let spaced = false;
    for (let i = from; i < to; i++) {
      const out = this.out[i]!;
      spaced ||= !this.tokens[i]!.glued;
      if (out === "") continue;
      // Two dashes would begin a comment.
      const apart = spaced || (last === "-" && out.startsWith("-"));
      if (apart && last !== "" && last !== " " && !out.startsWith(" ")) parts.push(" ");
      parts.push(out);
      last = out.at(-1)!;
      spaced = false;
    }
    return parts.join("");
  }

  /** The index of the parenthesis that closes the one at `open`; -1 where none does. */
  closing(open: number): number {
    return this.#brackets.partner(open);
  }

  /** The tokens between two of them that stand in no brackets of their own. */
  *between(from: number, to: number): Iterable<number> {
    for (let i = from; i < to; i++) {
      yield i;
      const close = this.#brackets.partner(i);
      if (close > i) i = close - 1;
    }
  }

  drop(from: number, to: number): void {
    this.out.fill("", from, to);
  }
}

function sideOf(token: MysqlToken): number {
  return isOperator(token, "(") ? 1 : isOperator(token, ")") ? -1 : 0;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
