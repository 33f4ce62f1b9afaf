import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlError } from "./error.ts";
import type { Cell, Table } from "./rows.ts";

/** The `LIKE 'pattern'` or `WHERE …` at the end of a SHOW, over the table that it shows. */

type Predicate = (row: readonly Cell[]) => boolean;

export function filterShown(table: Table, tokens: readonly MysqlToken[], likeColumn = 0): Table {
  if (tokens.length === 0) return table;
  if (isWord(tokens[0], "LIKE") && isText(tokens[1]) && tokens.length === 2) {
    const matches = likePattern(tokens[1]!.value);
    return { ...table, rows: table.rows.filter((row) => matches(String(row[likeColumn] ?? ""))) };
  }
  if (isWord(tokens[0], "WHERE")) {
    const keep = new Condition(table, tokens.slice(1)).parse();
    return { ...table, rows: table.rows.filter(keep) };
  }
  throw mysqlError("syntax", `You have an error in your SQL syntax near '${tokens[0]!.value}'`);
}

const anyText = -1;
const anyCharacter = -2;

/** `%` is any text and `_` any character, whatever their case. Takes time by the product of both lengths at most. */
export function likePattern(pattern: string): (text: string) => boolean {
  const wanted: number[] = [];
  const lower = pattern.toLowerCase();
  for (let i = 0; i < lower.length; i++) {
    if (lower[i] === "\\" && i + 1 < lower.length) wanted.push(lower.charCodeAt(++i));
    else if (lower[i] === "%") wanted.push(anyText);
    else wanted.push(lower[i] === "_" ? anyCharacter : lower.charCodeAt(i));
  }
  return (text) => matches(text.toLowerCase(), wanted);
}

/** Where a later part fails, the last `%` takes one character more; earlier ones need never be looked at again. */
function matches(text: string, wanted: readonly number[]): boolean {
  let at = 0;
  let part = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    if (wanted[part] === anyText) {
      star = part++;
      starAt = at;
    } else if (wanted[part] === anyCharacter || wanted[part] === text.charCodeAt(at)) {
      at++;
      part++;
    } else if (star === -1) return false;
    else {
      part = star + 1;
      at = ++starAt;
    }
  }
  while (wanted[part] === anyText) part++;
  return part === wanted.length;
}

function isText(token: MysqlToken | undefined): boolean {
  return token !== undefined && (token.kind === "string" || token.kind === "doubled");
}

/** condition := term (OR term)*, term := factor (AND factor)*, factor := ( condition ) | NOT factor | column test */
class Condition {
  readonly #table: Table;
  readonly #tokens: readonly MysqlToken[];
  #at = 0;
  #depth = 0;

  constructor(table: Table, tokens: readonly MysqlToken[]) {
    this.#table = table;
    this.#tokens = tokens;
  }

  parse(): Predicate {
    const predicate = this.#or();
    if (this.#at < this.#tokens.length) throw this.#wrong();
    return predicate;
  }

  #or(): Predicate {
    const terms = [this.#and()];
    while (this.#word("OR") || this.#operator("||")) terms.push(this.#and());
    return terms.length === 1 ? terms[0]! : (row) => terms.some((term) => term(row));
  }

  #and(): Predicate {
    const factors = [this.#factor()];
    while (this.#word("AND") || this.#operator("&&")) factors.push(this.#factor());
    return factors.length === 1 ? factors[0]! : (row) => factors.every((factor) => factor(row));
  }

  #factor(): Predicate {
    if (++this.#depth > 100) throw this.#wrong();
    try {
      if (this.#word("NOT")) {
        const inner = this.#factor();
        return (row) => !inner(row);
      }
      if (this.#operator("(")) {
        const inner = this.#or();
        if (!this.#operator(")")) throw this.#wrong();
        return inner;
      }
      return this.#test();
    } finally {
      this.#depth--;
    }
  }

  #test(): Predicate {
    const column = this.#column();
    const negated = this.#word("NOT");
    const test = this.#matcher();
    return (row) => {
      const cell = row[column] ?? null;
      return cell !== null && test(String(cell)) !== negated;
    };
  }

  #matcher(): (text: string) => boolean {
    if (this.#word("LIKE")) return likePattern(this.#literal());
    if (this.#word("IN")) {
      const values: string[] = [];
      if (!this.#operator("(")) throw this.#wrong();
      do values.push(this.#literal().toLowerCase());
      while (this.#operator(","));
      if (!this.#operator(")")) throw this.#wrong();
      return (text) => values.includes(text.toLowerCase());
    }
    const differs = this.#operator("<>") || this.#operator("!=");
    if (!differs && !this.#operator("=")) throw this.#wrong();
    const value = this.#literal().toLowerCase();
    return (text) => (text.toLowerCase() === value) !== differs;
  }

  #column(): number {
    const token = this.#tokens[this.#at];
    if (token === undefined || !isName(token)) throw this.#wrong();
    const found = this.#table.columns.findIndex(({ name }) => name.toLowerCase() === token.value.toLowerCase());
    if (found === -1) throw mysqlError("unknownColumn", `Unknown column '${token.value}' in 'where clause'`);
    this.#at++;
    return found;
  }

  #literal(): string {
    const token = this.#tokens[this.#at];
    if (!isText(token) && token?.kind !== "number") throw this.#wrong();
    this.#at++;
    return token!.value;
  }

  #word(word: string): boolean {
    if (!isWord(this.#tokens[this.#at], word)) return false;
    this.#at++;
    return true;
  }

  #operator(value: string): boolean {
    if (!isOperator(this.#tokens[this.#at], value)) return false;
    this.#at++;
    return true;
  }

  #wrong() {
    const near = this.#tokens[this.#at]?.value ?? "the end";
    return mysqlError("syntax", `You have an error in your SQL syntax near '${near}'`);
  }
}
