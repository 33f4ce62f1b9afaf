/**
 * Gathers lines into statements. A semicolon ends one, unless it stands in a text, a quoted name, a comment or between
 * dollar quotes.
 */
export class StatementReader {
  #text = "";

  /** Whether a statement has begun and not ended. */
  get isOpen(): boolean {
    return this.#text.trim() !== "";
  }

  /** The statements that the line completes. */
  add(line: string): string[] {
    this.#text += this.#text === "" ? line : `\n${line}`;
    const found: string[] = [];
    for (let end = statementEnd(this.#text); end >= 0; end = statementEnd(this.#text)) {
      const statement = this.#text.slice(0, end).trim();
      this.#text = this.#text.slice(end + 1).trimStart();
      if (statement !== "") found.push(statement);
    }
    return found;
  }

  /** What is left when no more lines come. */
  rest(): string {
    const rest = this.#text.trim();
    this.#text = "";
    return rest;
  }

  clear(): void {
    this.#text = "";
  }
}

/** What hides a semicolon, each with its end; what has none hides the rest. */
const hiding = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(\$\w*\$)[\s\S]*?(?:\1|$)|;/g;

function statementEnd(text: string): number {
  for (const match of text.matchAll(hiding)) if (match[0] === ";") return match.index;
  return -1;
}
