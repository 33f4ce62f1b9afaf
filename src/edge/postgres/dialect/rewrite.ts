import { tableSchemas } from "../../../engine/sql/columns.ts";
import { rewriteCall } from "./calls.ts";
import { rewriteCast, rewriteCastAs, rewriteFunctionColumn, rewriteTypedNumber } from "./casts.ts";
import { catalogSchema } from "./catalog.ts";
import { type Call, notAlias, PostgresDraft, quotedText, textList } from "./draft.ts";
import { isItem } from "./items.ts";
import { nameOf, type StatementText, stringOf, type Token } from "./lexer.ts";
import { rewriteArrayText, rewriteTypedText } from "./literals.ts";
import type { TextEdit } from "./moved.ts";
import { withMoved } from "./moved.ts";
import { rewriteNamedOperator, rewriteOperator, rewriteSimilar } from "./operators.ts";
import { rewriteNull, rewriteValues } from "./values.ts";

/** What a statement's words mean in the session that says them. */
export interface PostgresSession {
  readonly namespace: string;
  readonly user: string;
  readonly process: number;
  /** As `version()` returns it. */
  readonly version: string;
  namespaces(): readonly string[];
  settings(): readonly (readonly [name: string, value: string])[];
  setting(name: string): string | undefined;
  /** For `set_config`; gives what is set then. */
  configure(name: string, value: string, isLocal: boolean): string;
  /** The statements that it has prepared. */
  prepared(): readonly PreparedText[];
  /** The schemas in which a bare name is looked for. */
  searchPath(): readonly string[];
  /** The first of them that has the table, where it is not `collections`. */
  schemaOf(table: string): string | undefined;
}

export interface PreparedText {
  readonly name: string;
  readonly text: string;
  readonly types: readonly string[];
  /** By PREPARE, and not by the protocol. */
  readonly isFromSql: boolean;
}

/** What has to be changed in a statement so that DuckDB understands it as Postgres would. Linear in its length. */
export function postgresEdits(
  statement: StatementText,
  session: PostgresSession,
  more: readonly TextEdit[] = [],
): TextEdit[] {
  const draft = new PostgresDraft(statement, session.searchPath());
  return withMoved(statement.text, [...new Rewriter(draft, session).edits(), ...more], draft.moves);
}

const schemas = new Set<string>(["pg_catalog", "information_schema", ...tableSchemas]);

/** Words that end what a bare name could be. */
const relationStarts = new Set(["from", "join", ",", "lateral", "only"]);

const locks = new Set(["update", "share", "no", "key"]);

class Rewriter {
  readonly #draft: PostgresDraft;
  readonly #tokens: readonly Token[];
  readonly #session: PostgresSession;
  #expressionNames: ReadonlySet<string> | undefined;

  constructor(draft: PostgresDraft, session: PostgresSession) {
    this.#draft = draft;
    this.#tokens = draft.tokens;
    this.#session = session;
  }

  edits(): TextEdit[] {
    for (let i = 0; i < this.#tokens.length; ) i += Math.max(this.#at(i), 1);
    return this.#draft.edits();
  }

  /** How many tokens from `i` on were dealt with. */
  #at(i: number): number {
    const token = this.#tokens[i]!;
    if (token.kind === "word") return this.#word(i, token);
    if (token.kind === "quoted") return this.#quoted(i);
    if (token.kind === "string") {
      return rewriteArrayText(this.#draft, i, token) || rewriteTypedText(this.#draft, i, token);
    }
    if (token.kind !== "symbol") return 0;
    return token.text === "::" ? rewriteCast(this.#draft, i) : rewriteOperator(this.#draft, i);
  }

  #word(i: number, { text }: Token): number {
    const draft = this.#draft;
    if (text === "operator" && draft.isSymbol(i + 1, "(")) return rewriteNamedOperator(draft, i);
    if (text === "collate") return this.#collate(i);
    if (text === "as") return rewriteCastAs(draft, i);
    if (text === "similar") return rewriteSimilar(draft, i);
    if (text === "values") return rewriteValues(draft, i);
    if (text === "null") return rewriteNull(draft, i);
    if (text === "for") this.#refuseLock(i);
    const column = rewriteFunctionColumn(draft, i);
    if (column > 0 || draft.isSymbol(i - 1, ".")) return column;
    if (draft.isSymbol(i + 1, ".")) return this.#qualified(i);
    if (draft.isSymbol(i + 1, "(")) return this.#call(i, i);
    if (this.#tokens[i + 1]?.kind === "string") return rewriteTypedNumber(draft, i);
    if (text === "current_user" || text === "session_user" || text === "current_role") {
      return this.#constant(i, text, this.#session.user);
    }
    if (text === "current_catalog") return this.#constant(i, text, this.#session.namespace);
    return this.#relation(i, i);
  }

  #quoted(i: number): number {
    if (this.#draft.isSymbol(i - 1, ".")) return 0;
    return this.#draft.isSymbol(i + 1, ".") ? this.#qualified(i) : this.#relation(i, i);
  }

  /** Rows are read and never changed, so there is nothing that a lock could keep others from. */
  #refuseLock(i: number): void {
    const next = this.#tokens[i + 1];
    if (next?.kind !== "word" || !locks.has(next.text)) return;
    throw this.#draft.unsupported(i, `FOR ${next.text.toUpperCase()} is not supported: rows can't be locked`);
  }

  /** `pg_catalog.x` and `information_schema.x`: a function, a relation of the session, or left as it is. */
  #qualified(i: number): number {
    const schema = nameOf(this.#tokens[i]!).toLowerCase();
    if (!schemas.has(schema) || !this.#draft.isName(i + 2)) return 0;
    if (this.#draft.isSymbol(i + 3, ".")) {
      // A column by its table's full name: the table may stand for another one, which keeps the last part.
      this.#draft.replace(i, i + 1, "");
      return 2;
    }
    if (schema !== "pg_catalog" && schema !== "information_schema") return 0;
    if (this.#draft.isSymbol(i + 3, "(")) return this.#call(i, i + 2);
    return schema === "pg_catalog" ? this.#relation(i, i + 2) : 0;
  }

  /** A call whose name is token `last`, with what qualifies it from token `first` on. */
  #call(first: number, last: number): number {
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const call = { first, last, name, end: this.#draft.closing(last + 1) };
    return this.#sessionCall(call) || rewriteCall(this.#draft, call);
  }

  /** Calls that the session answers; 0 for others. */
  #sessionCall({ first, last, name, end }: Call): number {
    if (end === last + 2) {
      const answer = this.#sessionValue(name);
      return answer === undefined ? 0 : this.#answer(first, end, name, answer);
    }
    if (end === -1) return 0;
    const { path } = this.#draft;
    if (name === "current_schemas" || name === "pg_table_is_visible") {
      this.#draft.replace(first, last + 1, `${catalogSchema}.${name}_in(${path}, `);
      return last + 2 - first;
    }
    if (name !== "current_setting" && name !== "set_config") return 0;
    const setting = this.#tokens[last + 2]!;
    const commas = this.#draft.commas(last + 1);
    const isLone = (commas[0] ?? end) === last + 3;
    if (setting.kind !== "string" || !isLone) return name === "current_setting" ? this.#looseSetting(first, last) : 0;
    const values = commas.map((comma) => this.#tokens[comma + 1]);
    const value = this.#setting(name, stringOf(setting), values);
    return this.#answer(first, end, name, value === undefined ? "NULL::VARCHAR" : quotedText(value));
  }

  #sessionValue(name: string): string | undefined {
    switch (name) {
      case "version":
        return quotedText(`PostgreSQL ${this.#session.version}`);
      case "current_database":
        return quotedText(this.#session.namespace);
      case "current_schema": {
        const [first] = this.#session.searchPath();
        return first === undefined ? "NULL::VARCHAR" : quotedText(first);
      }
      case "pg_backend_pid":
        return String(this.#session.process);
      default:
        return undefined;
    }
  }

  /** In place of tokens; a column that is nothing else keeps its name. */
  #answer(first: number, last: number, name: string, value: string): number {
    const isRelation = this.#draft.clauseOf(first) === "from";
    const named = isItem(this.#draft, first, last) ? `${value} AS ${name}` : value;
    this.#draft.replace(first, last, isRelation ? `(SELECT ${value} AS ${name})` : named);
    return last + 1 - first;
  }

  #looseSetting(first: number, last: number): number {
    const settings = this.#session.settings();
    const [names, values] = [settings.map(([each]) => each), settings.map(([, value]) => value)];
    this.#draft.replace(first, last + 1, `${catalogSchema}.setting_of(${textList(names)}, ${textList(values)}, `);
    return last + 2 - first;
  }

  #setting(name: string, setting: string, [second, third]: readonly (Token | undefined)[]): string | undefined {
    if (name === "current_setting") {
      const value = this.#session.setting(setting);
      if (value !== undefined || second?.text === "true") return value;
      throw new UnknownSetting(setting);
    }
    const value = second?.kind === "string" ? stringOf(second) : (second?.text ?? "");
    return this.#session.configure(setting, value, third?.text === "true");
  }

  #constant(i: number, name: string, value: string): number {
    return this.#tokens[i - 1]?.text === "as" ? 0 : this.#answer(i, i, name, quotedText(value));
  }

  /** Relations whose rows are the session's own, and names that its search path says the schema of. */
  #relation(first: number, last: number): number {
    if (this.#draft.clauseOf(first) !== "from") return 0;
    if (!relationStarts.has(this.#tokens[first - 1]?.text ?? "")) return 0;
    const name = nameOf(this.#tokens[last]!).toLowerCase();
    const call = this.#sessionRelation(name);
    if (call === undefined) return first === last ? this.#bare(first) : 0;
    const after = this.#tokens[last + 1];
    const isNamed =
      after?.kind === "quoted" || after?.text === "as" || (after?.kind === "word" && !notAlias.has(after.text));
    this.#draft.replace(first, last, `${catalogSchema}.${call}${isNamed ? "" : ` AS ${name}`}`);
    return last - first + 1;
  }

  #bare(i: number): number {
    const schema = this.#session.schemaOf(nameOf(this.#tokens[i]!));
    if (schema === undefined) return 0;
    this.#expressionNames ??= this.#withNames();
    if (!this.#expressionNames.has(nameOf(this.#tokens[i]!).toLowerCase())) this.#draft.insertBefore(i, `${schema}.`);
    return 1;
  }

  /** Names that `WITH` gives, and some more that stand before `AS (`. */
  #withNames(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const [i, token] of this.#tokens.entries()) {
      if (token.kind !== "word" || token.text !== "as") continue;
      const open = this.#draft.opening(i - 1);
      names.add(this.#draft.nameAt(open === -1 ? i - 1 : open - 1).toLowerCase());
    }
    return names;
  }

  #sessionRelation(name: string): string | undefined {
    const { user } = this.#session;
    const people = user === "engine" ? [user] : ["engine", user];
    switch (name) {
      case "pg_database":
        return `session_databases(${textList(this.#session.namespaces())})`;
      case "pg_settings": {
        const settings = this.#session.settings();
        return `session_settings(${textList(settings.map(([each]) => each))}, ${textList(settings.map(([, value]) => value))})`;
      }
      case "pg_prepared_statements": {
        const prepared = this.#session.prepared();
        const types = `[${prepared.map((each) => textList(each.types)).join(", ")}]::VARCHAR[][]`;
        const fromSql = `[${prepared.map((each) => each.isFromSql).join(", ")}]::BOOLEAN[]`;
        return `session_statements(${textList(prepared.map(({ name: each }) => each))}, ${textList(prepared.map(({ text }) => text))}, ${types}, ${fromSql})`;
      }
      case "pg_roles":
        return `session_roles(${textList(people)})`;
      case "pg_user":
        return `session_users(${textList(people)})`;
      default:
        return undefined;
    }
  }

  /** The collation of text is always that of its bytes. */
  #collate(i: number): number {
    const isQualified = this.#draft.isSymbol(i + 2, ".");
    const last = isQualified ? i + 3 : i + 1;
    const name = this.#tokens[last];
    if (name === undefined || !/^(?:default|c|posix|ucs_basic)$/i.test(nameOf(name))) return 0;
    this.#draft.replace(i, last, "");
    return last - i + 1;
  }
}

export class UnknownSetting extends Error {
  readonly setting: string;

  constructor(setting: string) {
    super(`unrecognized configuration parameter "${setting}"`);
    this.setting = setting;
  }
}
