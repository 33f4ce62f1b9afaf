import { sqlFault } from "../fault.ts";
import { sqlTextLimits } from "../text-limits.ts";
import { Brackets } from "./brackets.ts";
import { catalogSchema } from "./postgres-catalog.ts";
import { functionNames } from "./postgres-functions.ts";
import { nameOf, type StatementText, stringOf, type Token } from "./postgres-lexer.ts";

/** What a statement's words mean in the session that says them. */
export interface PostgresSession {
  readonly namespace: string;
  readonly user: string;
  readonly process: number;
  /** As `version()` tells it. */
  readonly version: string;
  namespaces(): readonly string[];
  settings(): readonly (readonly [name: string, value: string])[];
  setting(name: string): string | undefined;
  /** For `set_config`; gives what is set then. */
  configure(name: string, value: string, isLocal: boolean): string;
}

export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What has to be changed in a statement so that DuckDB understands it as Postgres would. */
export function postgresEdits(statement: StatementText, session: PostgresSession): TextEdit[] {
  return new Rewriter(statement, session).edits();
}

/** Types that stand for names of things, and the functions that look these up. */
const lookups: Readonly<Record<string, string>> = {
  regclass: "regclass",
  regtype: "regtype",
  regnamespace: "regnamespace",
  regproc: "regproc",
  regprocedure: "regproc",
  regoper: "regproc",
  regoperator: "regproc",
  regrole: "regrole",
};

const schemas = new Set(["pg_catalog", "information_schema", "collections", "streams", "links"]);

/** Types that DuckDB has under another name. */
const typeNames: Readonly<Record<string, string>> = { name: "text", xid: "bigint", cid: "bigint", jsonb: "json" };

/** Functions that DuckDB has under another name. */
const functionAliases: Readonly<Record<string, string>> = {
  json_build_object: "json_object",
  jsonb_build_object: "json_object",
  json_build_array: "json_array",
  jsonb_build_array: "json_array",
  json_agg: "json_group_array",
  jsonb_agg: "json_group_array",
  json_object_agg: "json_group_object",
  jsonb_object_agg: "json_group_object",
  json_typeof: "json_type",
  jsonb_typeof: "json_type",
  jsonb_array_length: "json_array_length",
  char_length: "length",
  character_length: "length",
};

class Rewriter {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #session: PostgresSession;
  readonly #edits: TextEdit[] = [];
  readonly #brackets: Brackets;
  readonly #inFrom: Uint8Array;
  /** What a chain of casts is of, by the last token of each. */
  readonly #chains = new Map<number, number>();
  #addedCharacters = 0;

  constructor({ text, tokens }: StatementText, session: PostgresSession) {
    this.#text = text;
    this.#tokens = tokens;
    this.#session = session;
    this.#brackets = new Brackets(
      tokens.length,
      (i) => sideOf(tokens[i]!),
      (i) => tokens[i]!.start,
    );
    this.#inFrom = fromLists(tokens, this.#brackets);
  }

  edits(): TextEdit[] {
    for (let i = 0; i < this.#tokens.length; ) i += Math.max(this.#at(i), 1);
    return this.#edits;
  }

  /** What a session adds is longer than what stands for it. */
  #add(edit: TextEdit): void {
    this.#addedCharacters += edit.text.length;
    if (this.#addedCharacters > sqlTextLimits.charactersMax) {
      throw sqlFault("unsupported", "names the session's own relations too often", { position: edit.start });
    }
    this.#edits.push(edit);
  }

  /** How many tokens from `i` on were dealt with. */
  #at(i: number): number {
    const token = this.#tokens[i]!;
    if (token.kind === "word") return this.#word(i, token);
    if (token.kind === "quoted") return this.#isSymbol(i + 1, ".") ? this.#qualified(i) : 0;
    if (token.kind === "string") return this.#string(i, token);
    if (token.kind !== "symbol") return 0;
    if (token.text === "::") return this.#cast(i);
    if (token.text === "~" || token.text === "!") return this.#match(i);
    return 0;
  }

  #word(i: number, { text }: Token): number {
    if (text === "operator" && this.#isSymbol(i + 1, "(")) return this.#operator(i);
    if (text === "collate") return this.#collate(i);
    if (text === "as" && this.#isCastAs(i)) return this.#castAs(i);
    if (this.#isSymbol(i - 1, ".")) return 0;
    if (this.#isSymbol(i + 1, ".")) return this.#qualified(i);
    if (this.#isSymbol(i + 1, "(")) return this.#call(i, i);
    if (text === "current_user" || text === "session_user" || text === "current_role") return this.#user(i, text);
    if (text === "current_catalog") return this.#constant(i, text, this.#session.namespace);
    return this.#relation(i, i);
  }

  /** `pg_catalog.x` and `information_schema.x`: a function, a relation of the session, or left as it is. */
  #qualified(i: number): number {
    const schema = nameOf(this.#tokens[i]!).toLowerCase();
    const name = this.#tokens[i + 2];
    if (!schemas.has(schema) || name === undefined || (name.kind !== "word" && name.kind !== "quoted")) return 0;
    if (this.#isSymbol(i + 3, ".")) {
      // A column by its table's full name: the table may stand for another one, which keeps the last part.
      this.#replace(i, i + 1, "");
      return 2;
    }
    if (schema !== "pg_catalog" && schema !== "information_schema") return 0;
    if (this.#isSymbol(i + 3, "(")) return this.#call(i, i + 2);
    return schema === "pg_catalog" ? this.#relation(i, i + 2) : 0;
  }

  /** A call whose name is token `last`, with what qualifies it from token `first` on. */
  #call(first: number, last: number): number {
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const done = last - first + 1;
    const session = this.#sessionCall(first, last, name);
    if (session > 0) return session;
    if (name === "generate_series") this.#nameSeries(last);
    const alias = functionAliases[name];
    if (alias !== undefined) this.#replace(first, last, alias);
    else if (functionNames.has(name)) this.#replace(first, last, `${catalogSchema}.${name}`);
    // Functions of DuckDB itself are in no schema of this name.
    else if (first !== last) this.#replace(first, last, name);
    return done;
  }

  /** Calls that the session answers. */
  #sessionCall(first: number, last: number, name: string): number {
    if (this.#isSymbol(last + 2, ")")) {
      const value = {
        version: text(`PostgreSQL ${this.#session.version}`),
        current_database: text(this.#session.namespace),
      }[name];
      const told = name === "pg_backend_pid" ? String(this.#session.process) : value;
      if (told === undefined) return 0;
      this.#replace(first, last + 2, this.#named(first, last + 2, name, told));
      return last + 3 - first;
    }
    if (name !== "current_setting" && name !== "set_config") return 0;
    const end = this.#brackets.partner(last + 1);
    if (end === -1) return 0;
    const given = this.#tokens.slice(last + 2, Math.min(end, last + 7)).filter((_, i) => i % 2 === 0);
    const setting = given[0];
    if (setting?.kind !== "string") return name === "current_setting" ? this.#looseSetting(first, last) : 0;
    const value = this.#setting(name, stringOf(setting), given);
    this.#replace(first, end, this.#named(first, end, name, value === undefined ? "NULL::VARCHAR" : text(value)));
    return end + 1 - first;
  }

  #looseSetting(first: number, last: number): number {
    const settings = this.#session.settings();
    const [names, values] = [settings.map(([each]) => each), settings.map(([, value]) => value)];
    this.#replace(first, last + 1, `${catalogSchema}.setting_of(${texts(names)}, ${texts(values)}, `);
    return last + 2 - first;
  }

  /** In Postgres the other name of a series is its column's too. */
  #nameSeries(last: number): void {
    const end = this.#brackets.partner(last + 1);
    const at = this.#tokens[end + 1]?.text === "as" ? end + 2 : end + 1;
    const alias = this.#tokens[at];
    if (end === -1 || this.#inFrom[last] === 0 || this.#isSymbol(at + 1, "(")) return;
    if (alias?.kind !== "quoted" && (alias?.kind !== "word" || notAlias.has(alias.text))) return;
    this.#add({ start: alias.end, end: alias.end, text: `(${this.#text.slice(alias.start, alias.end)})` });
  }

  #setting(name: string, setting: string, [, second, third]: readonly Token[]): string | undefined {
    if (name === "current_setting") {
      const value = this.#session.setting(setting);
      if (value !== undefined || second?.text === "true") return value;
      throw new UnknownSetting(setting);
    }
    const value = second?.kind === "string" ? stringOf(second) : (second?.text ?? "");
    return this.#session.configure(setting, value, third?.text === "true");
  }

  /** A column that is nothing but the call keeps its name. */
  #named(first: number, last: number, name: string, expression: string): string {
    const before = this.#tokens[first - 1];
    const after = this.#tokens[last + 1];
    const begins = before === undefined || before.text === "select" || before.text === ",";
    const ends = after === undefined || after.text === "," || after.text === "from" || after.text === "union";
    // Within brackets a comma parts arguments, not columns.
    return begins && ends && this.#brackets.depth(first) === 0 ? `${expression} AS ${name}` : expression;
  }

  #user(i: number, name: string): number {
    return this.#constant(i, name, this.#session.user);
  }

  #constant(i: number, name: string, value: string): number {
    if (this.#tokens[i - 1]?.text === "as") return 0;
    this.#replace(i, i, this.#named(i, i, name, text(value)));
    return 1;
  }

  /** Relations whose rows are the session's own. */
  #relation(first: number, last: number): number {
    const before = this.#tokens[first - 1]?.text;
    if (before !== "from" && before !== "join" && before !== ",") return 0;
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const call = this.#sessionRelation(name);
    if (call === undefined) return 0;
    const after = this.#tokens[last + 1];
    const isNamed =
      after?.kind === "quoted" || after?.text === "as" || (after?.kind === "word" && !notAlias.has(after.text));
    this.#replace(first, last, `${catalogSchema}.${call}${isNamed ? "" : ` AS ${name}`}`);
    return last - first + 1;
  }

  #sessionRelation(name: string): string | undefined {
    const { user } = this.#session;
    const people = user === "engine" ? [user] : ["engine", user];
    switch (name) {
      case "pg_database":
        return `session_databases(${texts(this.#session.namespaces())})`;
      case "pg_settings": {
        const settings = this.#session.settings();
        return `session_settings(${texts(settings.map(([each]) => each))}, ${texts(settings.map(([, value]) => value))})`;
      }
      case "pg_roles":
        return `session_roles(${texts(people)})`;
      case "pg_user":
        return `session_users(${texts(people)})`;
      default:
        return undefined;
    }
  }

  /** `OPERATOR(pg_catalog.~)` is `~`. */
  #operator(i: number): number {
    const end = this.#brackets.partner(i + 1);
    if (end === -1 || end > i + 8) return 0;
    const isQualified = this.#tokens[i + 2]?.kind === "word" && this.#isSymbol(i + 3, ".");
    const from = this.#tokens[isQualified ? i + 4 : i + 2];
    if (from === undefined || from.start >= this.#tokens[end]!.start) return 0;
    const sign = this.#text.slice(from.start, this.#tokens[end]!.start).trim();
    const isMatch = /^!?~\*?$/.test(sign);
    const pattern = isMatch ? this.#pattern(end + 1, sign) : undefined;
    this.#replace(i, end, pattern === undefined ? sign : sign.replace("*", ""));
    if (pattern !== undefined) this.#replace(end + 1, end + 1, pattern);
    return end - i + (pattern === undefined ? 1 : 2);
  }

  /** `~`, `!~`, `~*` and `!~*` find a part of the text, where DuckDB's `~` takes the whole. */
  #match(i: number): number {
    const [, sign = ""] = /^(!?~\*?)(?![~!@#%^&|+<>=/-])/.exec(this.#text.slice(this.#tokens[i]!.start)) ?? [];
    const before = this.#tokens[i - 1];
    const isPrefix = before === undefined || (before.kind === "symbol" && before.text !== ")" && before.text !== "]");
    if (sign === "" || isPrefix) return 0;
    const operand = i + sign.length;
    const pattern = this.#pattern(operand, sign);
    if (pattern === undefined) return sign.length;
    this.#add({
      start: this.#tokens[i]!.start,
      end: this.#tokens[i]!.start + sign.length,
      text: sign.replace("*", ""),
    });
    this.#replace(operand, operand, pattern);
    return sign.length + 1;
  }

  /** The pattern of DuckDB that matches a whole text of which the given one matches a part. */
  #pattern(i: number, sign: string): string | undefined {
    const token = this.#tokens[i];
    if (token?.kind !== "string") return undefined;
    return text(`(?s${sign.includes("*") ? "i" : ""}).*(?:${stringOf(token)}).*`);
  }

  /** The collation of text is always that of its bytes. */
  #collate(i: number): number {
    const isQualified = this.#isSymbol(i + 2, ".");
    const last = isQualified ? i + 3 : i + 1;
    const name = this.#tokens[last];
    if (name === undefined || !/^(?:default|c|posix|ucs_basic)$/i.test(nameOf(name))) return 0;
    this.#replace(i, last, "");
    return last - i + 1;
  }

  #string(i: number, token: Token): number {
    // `'{1,2}'::int[]`
    const value = stringOf(token);
    const isCast = this.#isSymbol(i + 1, "::") && this.#isArrayType(i + 2);
    const isCompared = /^\{[\d,\s]*\}$/.test(value) && /^(?:=|>)$/.test(this.#tokens[i - 1]?.text ?? "");
    if (!/^\s*\{.*\}\s*$/s.test(value) || (!isCast && !isCompared)) return 0;
    this.#replace(i, i, text(bracketed(value)));
    return 1;
  }

  #isArrayType(i: number): boolean {
    for (let at = i; at < this.#tokens.length; at++) {
      const { kind, text: word } = this.#tokens[at]!;
      if (word === "[") return true;
      if (kind !== "word" && kind !== "quoted" && word !== ".") return false;
    }
    return false;
  }

  /** `::pg_catalog.type`, `::regclass` and types that DuckDB calls otherwise. `i` is the `::`. */
  #cast(i: number): number {
    const last = this.#typeToken(i + 1);
    if (last === -1) return 0;
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const lookup = lookups[name];
    if (lookup === undefined) {
      if (last !== i + 1 || Object.hasOwn(typeNames, name)) this.#replace(i + 1, last, typeNames[name] ?? name);
      return last - i + 1;
    }
    const start = this.#operandStart(i - 1);
    const operand = this.#tokens[start]!;
    const isText = start === i - 1 && isTextual(operand);
    this.#add({
      start: operand.start,
      end: operand.start,
      text: `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}(`,
    });
    this.#replace(i, last, ")");
    return last - i + 1;
  }

  /** The last token of a type's name that may have a schema before it; -1 where there is no name. */
  #typeToken(i: number): number {
    const isName = (at: number) => ["word", "quoted"].includes(this.#tokens[at]?.kind ?? "");
    if (!isName(i)) return -1;
    if (!this.#isSymbol(i + 1, ".")) return i;
    const schema = nameOf(this.#tokens[i]!).toLowerCase();
    return isName(i + 2) && (schema === "pg_catalog" || schema === "information_schema") ? i + 2 : -1;
  }

  #isCastAs(i: number): boolean {
    const last = this.#typeToken(i + 1);
    if (last === -1) return false;
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const isOurs = last !== i + 1 || Object.hasOwn(typeNames, name) || Object.hasOwn(lookups, name);
    return isOurs && this.#tokens[this.#brackets.around(i) - 1]?.text === "cast";
  }

  /** `CAST(x AS pg_catalog.type)` */
  #castAs(i: number): number {
    const last = this.#typeToken(i + 1);
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const lookup = lookups[name];
    if (lookup === undefined) {
      this.#replace(i + 1, last, typeNames[name] ?? name);
    } else {
      const open = this.#brackets.around(i);
      const isText = open === i - 2 && isTextual(this.#tokens[i - 1]!);
      this.#replace(open - 1, open - 1, `${catalogSchema}.${lookup}_${isText ? "oid" : "name"}`);
      this.#replace(i, last, "");
    }
    return last - i + 1;
  }

  /** The first token of what stands before a cast: a name with its qualifiers, a call, or something in brackets. */
  #operandStart(i: number): number {
    let at = i;
    // A cast may follow another, and another that.
    while (this.#isSymbol(at - 1, "::")) {
      at -= 2;
      const known = this.#chains.get(at);
      if (known === undefined) continue;
      at = known;
      break;
    }
    this.#chains.set(i, at);
    if (this.#isSymbol(at, ")") || this.#isSymbol(at, "]")) {
      at = this.#brackets.partner(at);
      if (this.#tokens[at - 1]?.kind === "word" && !notAlias.has(this.#tokens[at - 1]!.text)) at--;
    }
    while (this.#isSymbol(at - 1, ".")) at -= 2;
    return Math.max(at, 0);
  }

  #isSymbol(i: number, symbol: string): boolean {
    const token = this.#tokens[i];
    return token?.kind === "symbol" && token.text === symbol;
  }

  #replace(first: number, last: number, replacement: string): void {
    this.#add({ start: this.#tokens[first]!.start, end: this.#tokens[last]!.end, text: replacement });
  }
}

function sideOf({ kind, text }: Token): number {
  if (kind !== "symbol") return 0;
  return text === "(" || text === "[" ? 1 : text === ")" || text === "]" ? -1 : 0;
}

/** Which tokens stand in the list of a FROM, each at its own depth of brackets. */
function fromLists(tokens: readonly Token[], brackets: Brackets): Uint8Array {
  const isIn = new Uint8Array(tokens.length);
  const levels: number[] = [];
  for (const [i, token] of tokens.entries()) {
    const depth = brackets.depth(i);
    const side = sideOf(token);
    isIn[i] = levels[depth] ?? 0;
    if (side > 0) levels[depth + 1] = 0;
    else if (token.kind !== "word") continue;
    else if (token.text === "from") levels[depth] = 1;
    else if (token.text === "select" || token.text === "where" || token.text === "order") levels[depth] = 0;
  }
  return isIn;
}

/** The name of a thing, and not its number: as text it comes from the client. */
function isTextual({ kind }: Token): boolean {
  return kind === "string" || kind === "parameter";
}

/** Words after a relation that are no other name for it. */
const notAlias = new Set(
  `where join left right inner outer full cross natural on using order group having limit offset union except
   intersect window fetch for in and or not select from case when then else end is any all`.split(/\s+/),
);

export class UnknownSetting extends Error {
  readonly setting: string;

  constructor(setting: string) {
    super(`unrecognized configuration parameter "${setting}"`);
    this.setting = setting;
  }
}

/** The text of an array in DuckDB's brackets. */
function bracketed(array: string): string {
  let text = "";
  let isQuoted = false;
  for (let at = 0; at < array.length; at++) {
    const character = array[at]!;
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted && character === "\\") text += character + (array[++at] ?? "");
    else if (isQuoted) text += character;
    else text += character === "{" ? "[" : character === "}" ? "]" : character;
  }
  return text;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function texts(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]::VARCHAR[]`;
}
