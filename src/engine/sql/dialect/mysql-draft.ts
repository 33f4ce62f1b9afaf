import { isOperator, type MysqlToken } from "./mysql-lexer.ts";

/** The words of a statement and what each becomes; an empty text drops one. */
export class Draft {
  readonly source: string;
  readonly tokens: readonly MysqlToken[];
  readonly out: string[];

  constructor(source: string, tokens: readonly MysqlToken[]) {
    this.source = source;
    this.tokens = tokens;
    this.out = tokens.map(({ value }) => value);
  }

  text(from = 0, to = this.out.length): string {
    let text = "";
    let spaced = false;
    for (let i = from; i < to; i++) {
      const out = this.out[i]!;
      spaced ||= !this.tokens[i]!.glued;
      if (out === "") continue;
      // Two dashes would begin a comment.
      const apart = spaced || (text.endsWith("-") && out.startsWith("-"));
      text += apart && text !== "" && !text.endsWith(" ") && !out.startsWith(" ") ? ` ${out}` : out;
      spaced = false;
    }
    return text;
  }

  /** The index of the parenthesis that closes the one at `open`. */
  closing(open: number): number {
    let depth = 0;
    for (let i = open; i < this.tokens.length; i++) {
      if (isOperator(this.tokens[i], "(")) depth++;
      else if (isOperator(this.tokens[i], ")") && --depth === 0) return i;
    }
    return this.tokens.length;
  }

  drop(from: number, to: number): void {
    this.out.fill("", from, to);
  }
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
