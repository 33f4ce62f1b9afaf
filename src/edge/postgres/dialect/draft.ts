import { sqlFault } from "../../../engine/sql/fault.ts";
import { checkDepth } from "../../../engine/sql/statement-limits.ts";
import { nameOf, type StatementText, type Token } from "./lexer.ts";
import type { Moved, TextEdit } from "./moved.ts";

/** A call: its name is token `last`, with what qualifies it from token `first` on. */
export interface Call {
  readonly first: number;
  readonly last: number;
  readonly name: string;
  /** The bracket that closes it. */
  readonly end: number;
}

/** The part of a select that a token stands in. */
export type Clause = "select" | "from" | "other";

const clauses: Readonly<Record<string, Clause>> = {
  select: "select",
  returning: "select",
  from: "from",
  join: "from",
  where: "other",
  on: "other",
  group: "other",
  having: "other",
  order: "other",
  limit: "other",
  offset: "other",
  window: "other",
  union: "other",
  except: "other",
  intersect: "other",
  values: "other",
  with: "other",
};

/** What of a select can't be known before its end. */
interface Select {
  readonly at: number;
  hasFrom: boolean;
  /** The token that ends its FROM; -1 where nothing follows it. */
  fromEnd: number;
  /** The word GROUP; -1 where it has none. */
  groupAt: number;
  /** Of each token of its list, which of the grouped columns it belongs to; made when it is asked for. */
  grouped?: ReadonlySet<number>;
  moved?: Moved;
}

function noteEnd(select: Select, word: string, i: number): void {
  if (word === "from") select.hasFrom = true;
  if ((word === "where" || word === "group") && select.fromEnd === -1) select.fromEnd = i;
  if (word === "group") select.groupAt = i;
}

const closers: Readonly<Record<string, string>> = { ")": "(", "]": "[", end: "case" };

/** What the edits of a statement may add to it: each call of some functions brings a list of the session's along. */
const addedCharactersMax = 8 * 1024 * 1024;

/**
 * A statement's tokens with what belongs together, and the changes that are made to it. Brackets and clauses are found
 * in one pass, so that a look at them takes no walk.
 */
export class PostgresDraft {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** The schemas in which a bare name is looked for, as a list of DuckDB's. */
  readonly path: string;
  readonly #closing: Int32Array;
  readonly #opening: Int32Array;
  readonly #around: Int32Array;
  readonly #clauses: Clause[] = [];
  readonly #selects: (Select | undefined)[] = [];
  readonly moves: Moved[] = [];
  readonly #claimed: Uint8Array;
  readonly #before: TextEdit[] = [];
  readonly #after: TextEdit[] = [];
  readonly #replaced: TextEdit[] = [];
  #added = 0;

  constructor({ text, tokens }: StatementText, searchPath: readonly string[] = []) {
    this.path = textList(searchPath);
    this.text = text;
    this.tokens = tokens;
    this.#closing = new Int32Array(tokens.length).fill(-1);
    this.#opening = new Int32Array(tokens.length).fill(-1);
    this.#around = new Int32Array(tokens.length).fill(-1);
    this.#claimed = new Uint8Array(tokens.length);
    this.#pair();
  }

  #pair(): void {
    const open: { readonly at: number; clause: Clause; select?: Select }[] = [{ at: -1, clause: "other" }];
    for (const [i, { kind, text }] of this.tokens.entries()) {
      const isSign = kind === "symbol" || kind === "word";
      const opener = isSign ? closers[text] : undefined;
      if (opener !== undefined && this.tokens[open.at(-1)!.at]?.text === opener) {
        const { at } = open.pop()!;
        this.#closing[at] = i;
        this.#opening[i] = at;
      }
      const level = open.at(-1)!;
      this.#around[i] = level.at;
      this.#clauses.push(level.clause);
      if (this.isWord(i, "select")) level.select = { at: i, hasFrom: false, fromEnd: -1, groupAt: -1 };
      this.#selects.push(level.select);
      if (kind === "word" && Object.hasOwn(clauses, text) && !this.#isDistinctFrom(i)) {
        if (level.select !== undefined && !this.isWord(i - 1, "within")) noteEnd(level.select, text, i);
        level.clause = clauses[text]!;
      }
      if (isSign && (text === "(" || text === "[" || text === "case")) {
        open.push({ at: i, clause: "other" });
        checkDepth(open.length - 1, this.tokens[i]!.start);
      }
    }
  }

  /** `IS DISTINCT FROM` compares. */
  #isDistinctFrom(i: number): boolean {
    return this.isWord(i, "from") && this.isWord(i - 1, "distinct") && !this.isWord(i - 2, "select");
  }

  isSymbol(i: number, symbol: string): boolean {
    const token = this.tokens[i];
    return token?.kind === "symbol" && token.text === symbol;
  }

  /** Symbols that stand together, as those of an operator do. */
  isOperator(i: number, operator: string): boolean {
    const first = this.tokens[i];
    if (first?.kind !== "symbol" || !this.text.startsWith(operator, first.start)) return false;
    return !operatorSigns.has(this.text[first.start + operator.length] ?? "");
  }

  isWord(i: number, word: string): boolean {
    const token = this.tokens[i];
    return token?.kind === "word" && token.text === word;
  }

  isName(i: number): boolean {
    const kind = this.tokens[i]?.kind;
    return kind === "word" || kind === "quoted";
  }

  nameAt(i: number): string {
    const token = this.tokens[i];
    return token === undefined ? "" : nameOf(token);
  }

  /** The bracket that closes the one at `i`; -1 where none does. */
  closing(i: number): number {
    return this.#closing[i] ?? -1;
  }

  /** The bracket that the one at `i` closes. */
  opening(i: number): number {
    return this.#opening[i] ?? -1;
  }

  /** The bracket that is open at `i`; -1 where none is. */
  around(i: number): number {
    return this.#around[i] ?? -1;
  }

  clauseOf(i: number): Clause {
    return this.#clauses[i] ?? "other";
  }

  /** The token of a select's list that token `i` is, or that opens the brackets around it; -1 where it is in none. */
  listToken(i: number): number {
    let at = i;
    while (at !== -1 && this.clauseOf(at) !== "select" && this.#selects[at] === undefined) at = this.around(at);
    return at !== -1 && this.clauseOf(at) === "select" ? at : -1;
  }

  /** Whether token `i` belongs to a column of a select's list that the select groups by: by its name or its number. */
  isGrouped(i: number): boolean {
    const at = this.listToken(i);
    const select = this.#selects[at];
    if (select === undefined || select.groupAt === -1) return false;
    select.grouped ??= this.#groupedTokens(select);
    return select.grouped.has(at);
  }

  #groupedTokens({ at, groupAt }: Select): ReadonlySet<number> {
    const isQuantified = this.isWord(at + 1, "distinct") || this.isWord(at + 1, "all");
    const items = this.items(isQuantified ? at + 2 : at + 1);
    const names = new Set<string>();
    for (const [first, last] of this.items(groupAt + 2)) if (first === last) names.add(this.nameAt(first));
    const grouped = new Set<number>();
    for (const [i, [first, last]] of items.entries()) {
      if (!names.has(String(i + 1)) && !(last > first && this.isName(last) && names.has(this.nameAt(last)))) continue;
      for (let token = first; token <= last; token++) grouped.add(token);
    }
    return grouped;
  }

  /** What stands between the commas from token `from` on, to the end of its clause. */
  items(from: number): (readonly [first: number, last: number])[] {
    const found: (readonly [number, number])[] = [];
    let first = from;
    for (let at = from; ; at++) {
      const token = this.tokens[at];
      const isClause = token?.kind === "word" && Object.hasOwn(clauses, token.text) && !this.#isDistinctFrom(at);
      const isEnd = token === undefined || isClause || this.opening(at) !== -1 || this.isSymbol(at, ";");
      if (isEnd || this.isSymbol(at, ",")) {
        if (at > first) found.push([first, at - 1]);
        first = at + 1;
      }
      if (isEnd) return found;
      if (this.closing(at) !== -1) at = this.closing(at);
    }
  }

  /**
   * Moves the tokens of a call to the FROM of the select that they are in the list of, where it gives a row each time;
   * `text` may follow what stands for it in the list. Calls of one select go together, as their rows do.
   */
  moveToFrom(first: number, last: number, text: string): void {
    const select = this.#selects[this.listToken(first)]!;
    const table = `sets_${select.at}`;
    const name = `value_${first}`;
    if (select.moved === undefined) {
      const to = this.tokens[select.fromEnd]!.start;
      const before = select.hasFrom ? ", LATERAL (SELECT " : "FROM (SELECT ";
      select.moved = { to, before, parts: [], after: `) AS ${table} ` };
      this.moves.push(select.moved);
    }
    const { start } = this.tokens[first]!;
    select.moved.parts.push({ start, end: this.tokens[last]!.end, text: `${table}.${name}${text}`, name });
    this.#count(table);
  }

  /** The commas between the arguments of the brackets that open at `i`. */
  commas(i: number): number[] {
    const found: number[] = [];
    const end = this.closing(i);
    for (let at = i + 1; at < end; at++) {
      const close = this.closing(at);
      if (close !== -1) at = close;
      else if (this.isSymbol(at, ",")) found.push(at);
    }
    return found;
  }

  replace(first: number, last: number, text: string): void {
    for (let i = first; i <= last; i++) {
      if (this.#claimed[i] === 1) throw this.unsupported(i, "this can't be followed here; put it in a subquery");
      this.#claimed[i] = 1;
    }
    this.#replaced.push({ start: this.tokens[first]!.start, end: this.tokens[last]!.end, text });
    this.#count(text);
  }

  insertBefore(i: number, text: string): void {
    const { start } = this.tokens[i]!;
    this.#before.push({ start, end: start, text });
    this.#count(text);
  }

  insertAfter(i: number, text: string): void {
    const { end } = this.tokens[i]!;
    this.#after.push({ start: end, end, text });
    this.#count(text);
  }

  /** In the order of their places; at the same one what is around comes before what is within. */
  edits(): TextEdit[] {
    this.#before.reverse();
    return [...this.#after, ...this.#before, ...this.#replaced].sort((a, b) => a.start - b.start);
  }

  unsupported(i: number, message: string): Error {
    return sqlFault("unsupported", message, { position: this.tokens[i]?.start });
  }

  /** The first token of the operand that ends with token `i`: a name, a call, a literal, or something in brackets. */
  operandStart(i: number): number {
    let at = i;
    for (;;) {
      const open = this.opening(at);
      if (open !== -1) {
        const isCall = open > 0 && (this.#isCallee(open - 1) || this.opening(open - 1) !== -1);
        if (!isCall || this.isWord(open, "case")) return this.#beforeCasts(open);
        at = open - 1;
        continue;
      }
      while (this.isSymbol(at - 1, ".") && (this.isName(at - 2) || this.opening(at - 2) !== -1)) {
        at -= 2;
        if (this.opening(at) !== -1) break;
      }
      if (this.opening(at) === -1) return this.#beforeCasts(at);
    }
  }

  readonly #castStarts = new Map<number, number>();

  /** A cast may follow another: what begins with a type then begins with what is cast. */
  #beforeCasts(at: number): number {
    if (!this.isSymbol(at - 1, "::")) return at;
    const known = this.#castStarts.get(at);
    if (known !== undefined) return known;
    const start = this.operandStart(at - 2);
    this.#castStarts.set(at, start);
    return start;
  }

  #isCallee(i: number): boolean {
    const token = this.tokens[i];
    return token?.kind === "quoted" || (token?.kind === "word" && !notAlias.has(token.text));
  }

  /** The last token of the operand that begins with token `i`, with the casts that follow it. */
  operandEnd(i: number): number {
    let at = this.closing(i) === -1 ? i : this.closing(i);
    for (;;) {
      if (this.isSymbol(at + 1, ".") && this.isName(at + 2)) at += 2;
      else if (this.isSymbol(at + 1, "::")) at += 2;
      else if ((this.isSymbol(at + 1, "(") || this.isSymbol(at + 1, "[")) && this.closing(at + 1) !== -1) {
        at = this.closing(at + 1);
      } else return Math.min(at, this.tokens.length - 1);
    }
  }

  #count(text: string): void {
    this.#added += text.length;
    if (this.#added > addedCharactersMax) throw sqlFault("unsupported", "the query becomes too long");
  }
}

const operatorSigns = new Set("~!@#%^&|+<>=/*-`?");

/** Words after a relation that are no other name for it. */
export const notAlias = new Set(
  `where join left right inner outer full cross natural on using order group having limit offset union except
   intersect window fetch for in and or not select from case when then else end is any all with some between like
   ilike similar as lateral`.split(/\s+/),
);

export function quotedText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

export function textList(values: readonly string[]): string {
  return `[${values.map(quotedText).join(", ")}]::VARCHAR[]`;
}
