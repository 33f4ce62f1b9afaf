import { nameOf, stringOf, type Token } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";

/** Reads a statement word by word. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** Where the next token begins in the statement. */
  get position(): number {
    return this.#tokens[this.#at]?.start ?? this.#tokens.at(-1)?.end ?? 0;
  }

  /** Where the last token that was read ends. */
  get end(): number {
    return this.#tokens[this.#at - 1]?.end ?? 0;
  }

  peekWord(): string | undefined {
    const token = this.#tokens[this.#at];
    return token?.kind === "word" ? token.text : undefined;
  }

  word(): string | undefined {
    const word = this.peekWord();
    if (word !== undefined) this.#at++;
    return word;
  }

  skip(word: string): boolean {
    if (this.peekWord() !== word) return false;
    this.#at++;
    return true;
  }

  isSymbol(symbol: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === "symbol" && token.text === symbol;
  }

  skipSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.#at++;
    return true;
  }

  expectSymbol(symbol: string): void {
    if (!this.skipSymbol(symbol)) throw this.syntaxError();
  }

  /** Passes over brackets, and tells where what is within them begins and ends. */
  brackets(): { readonly from: number; readonly to: number } {
    this.expectSymbol("(");
    const from = this.position;
    for (let depth = 1; ; this.#at++) {
      if (this.isAtEnd) throw this.syntaxError();
      if (this.isSymbol("(")) depth++;
      else if (this.isSymbol(")") && --depth === 0) break;
    }
    const to = this.position;
    this.#at++;
    return { from, to };
  }

  name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "word" && token?.kind !== "quoted") throw this.syntaxError();
    this.#at++;
    return nameOf(token);
  }

  dottedName(): string {
    let name = this.name();
    while (this.skipSymbol(".")) name += `.${this.name()}`;
    return name;
  }

  /** Names with commas between. */
  nameList(): string[] {
    const list: string[] = [];
    do list.push(this.name());
    while (this.skipSymbol(","));
    return list;
  }

  number(): number | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "number") return undefined;
    this.#at++;
    return Number(token.text);
  }

  /** One value, or several with commas between; undefined is DEFAULT. */
  valueList(): string | undefined {
    if (this.peekWord() === "default") return undefined;
    const values: string[] = [];
    do values.push(this.value());
    while (this.skipSymbol(","));
    if (!this.isAtEnd) throw this.syntaxError();
    return values.join(", ");
  }

  /** A string, a number or a word. */
  value(): string {
    const isNegative = this.skipSymbol("-");
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === "symbol" || token.kind === "broken") throw this.syntaxError();
    this.#at++;
    return (isNegative ? "-" : "") + (token.kind === "string" ? stringOf(token) : nameOf(token));
  }

  syntaxError(): PostgresError {
    const token = this.#tokens[this.#at];
    const where = token === undefined ? "end of input" : `"${token.text.slice(0, 60)}"`;
    return new PostgresError("42601", `syntax error at or near ${where}`);
  }
}
