import type { Dialect } from "../../dialect.ts";
import { sqlFault } from "../../fault.ts";
import type { NamedTable, StatementText } from "../../messages.ts";
import type { SqlStatementKind } from "../../sql.ts";
import { characterAt, type Edit, quote } from "../edits.ts";
import { shownRelation, shownSchema } from "../shown.ts";
import { checkComplexity } from "./complexity.ts";
import { checkFunction, checkRef, checkTableFunction, checkType, placeOf, shownView } from "./guard.ts";
import { nameOf, type Token } from "./lexer.ts";
import { type NearestRef, nearestRefs } from "./nearest-refs.ts";
import { plainSelect } from "./plain-select.ts";
import { boundsOf, isRetrieval, type RetrievalRef, retrievalRef, type StatementBounds } from "./retrieval-refs.ts";
import { isRetriever } from "./retriever-call.ts";
import type { StatementPlan, TableRef } from "./statement-plan.ts";
import { expressionNames, isSmall } from "./statement-shape.ts";
import {
  type BaseTable,
  type ColumnRef,
  type FunctionCall,
  isNode,
  nodesOf,
  type ShowRef,
  type TableFunction,
  type TreeNode,
} from "./syntax-tree.ts";
import { writtenNames } from "./written-names.ts";

export interface Explained {
  /** Where the explained statement begins. */
  readonly start: number;
  readonly runs: boolean;
}

const bareCatalogName = /^(?:pg_|sqlite_|duckdb_)/;

export function sideOf(query: string, { kind, start }: Token): number {
  if (kind !== "sign") return 0;
  const sign = query.charAt(start);
  return "([{".includes(sign) ? 1 : ")]}".includes(sign) ? -1 : 0;
}

export class Planner {
  readonly #text: StatementText;
  readonly #dialect: Dialect | undefined;
  readonly #query: string;
  readonly #tokens: readonly Token[];
  readonly #statement: TreeNode;
  readonly #explained: Explained | undefined;
  readonly #refs: TableRef[] = [];
  readonly #tables: NamedTable[] = [];
  readonly #edits: Edit[];
  readonly #expressions = new Set<string>();
  /** `schema.table` of tables that are named so. */
  readonly #qualified = new Set<string>();
  readonly #names = new Set<string>();
  readonly #retrievals: RetrievalRef[] = [];
  /** Calls of table functions and retrievers, which are no scalar ones. */
  readonly #tableCalls = new Set<TreeNode>();
  readonly #tokenStarts = new Map<number, number>();
  readonly #isAscii: boolean;
  #bounds: StatementBounds["tables"] = new Map();
  #nearest: ReadonlyMap<TreeNode, NearestRef> = new Map();
  #allColumns = false;
  #catalog = false;

  constructor(
    text: StatementText,
    dialect: Dialect | undefined,
    query: string,
    tokens: readonly Token[],
    statement: TreeNode,
    explained: Explained | undefined,
    edits: readonly Edit[],
  ) {
    this.#text = text;
    this.#dialect = dialect;
    this.#query = query;
    this.#tokens = tokens;
    this.#statement = statement;
    this.#explained = explained;
    this.#edits = [...edits];
    this.#isAscii = Buffer.byteLength(query) === query.length;
    for (const [i, { start }] of tokens.entries()) this.#tokenStarts.set(start, i);
  }

  plan(): StatementPlan {
    checkComplexity(this.#statement, this.#query);
    const nodes = [...nodesOf(this.#statement)];
    const described = new Set<TreeNode>();
    for (const node of nodes) {
      for (const name of expressionNames(node)) this.#expressions.add(name.toLowerCase());
      if (node.type === "SHOW_REF" && node["show_type"] === "DESCRIBE") {
        for (const inner of nodesOf(node["query"])) described.add(inner);
      }
    }
    for (const { type, function: call } of nodes) {
      if (type === "TABLE_FUNCTION" && isNode(call)) this.#tableCalls.add(call);
    }
    const inRetrievers = new Set<TreeNode>();
    const bounds = boundsOf(nodes);
    this.#bounds = bounds.tables;
    this.#nearest = nearestRefs(nodes.filter((node) => !described.has(node)));
    for (const node of nodes) {
      if (!isRetrieval(node)) continue;
      for (const inner of nodesOf(node.function)) {
        inRetrievers.add(inner);
        const { function_name: name } = inner;
        if (typeof name === "string" && isRetriever(name)) this.#tableCalls.add(inner);
      }
      const start = this.#placeOf(node);
      this.#retrievals.push(retrievalRef(node, start, bounds.retrievals.get(node), this.#query, this.#tokens));
    }
    // The names within a retriever are no columns of the statement's tables.
    for (const node of nodes) {
      if (!inRetrievers.has(node) || node.class !== "COLUMN_REF") this.#visit(node, !described.has(node));
    }
    for (const node of nodes) if (node.class === "COLUMN_REF") this.#shorten(node as ColumnRef);
    // A whole row can be named by its table.
    for (const { alias, name } of this.#refs)
      if (this.#names.has((alias ?? name).toLowerCase())) this.#allColumns = true;
    // The wires with a dialect name such columns by rules of their own.
    if (this.#dialect === undefined) {
      this.#edits.push(...writtenNames(this.#query, this.#tokens, this.#statement));
    }
    const parameters = this.#parameterCount();
    return {
      needs: { kind: this.#kind(), tables: this.#tables, catalog: this.#catalog, parameters },
      query: this.#query,
      refs: this.#refs,
      edits: this.#edits,
      retrievals: this.#retrievals,
      tokens: this.#tokens,
      isSmall: isSmall(this.#statement["node"]),
      plain: this.#explained === undefined ? plainSelect(this.#statement) : undefined,
      columns: { all: this.#allColumns, names: this.#names },
    };
  }

  #visit(node: TreeNode, read: boolean): void {
    checkRef(node.type);
    const dialect = this.#dialect;
    if ((node.class === "FUNCTION" || node.class === "WINDOW") && !this.#tableCalls.has(node)) {
      checkFunction(node as FunctionCall, dialect, this.#placeOf(node));
      if (dialect?.catalogMacros?.has((node as FunctionCall).function_name) === true) this.#catalog = true;
    }
    checkType(node);
    if (node.class === "STAR") this.#allColumns = true;
    if (node.class === "COLUMN_REF") for (const name of (node as ColumnRef).column_names) this.#use(name);
    switch (node.type) {
      case "BASE_TABLE":
        this.#onTable(node as BaseTable, read && this.#explained?.runs !== false);
        break;
      case "TABLE_FUNCTION":
        if (!isRetrieval(node)) checkTableFunction(node as TableFunction, dialect, this.#placeOf(node));
        break;
      case "SHOW_REF":
        this.#onShow(node as ShowRef);
        break;
      case "JOIN":
        if (node["ref_type"] === "NATURAL") this.#allColumns = true;
        for (const name of (node["using_columns"] as string[] | undefined) ?? []) this.#use(name);
    }
  }

  /** A column with the schema before its table: the table may have another schema here, but keeps its name. */
  #shorten({ column_names: names, query_location: location }: ColumnRef): void {
    if (names.length < 3 || location === undefined) return;
    const start = this.#characterAt(location);
    const at = this.#tokenStarts.get(start) ?? -1;
    for (const before of [1, 2]) {
      const schema = names[before - 1]!.toLowerCase();
      const table = names[before]!.toLowerCase();
      const isNamed = this.#qualified.has(`${schema}.${table}`);
      const first = this.#tokens[at + before * 2];
      if (at === -1 || !isNamed || first === undefined || names.length <= before + 1) continue;
      this.#edits.push({ start, end: first.start, text: "" });
      return;
    }
  }

  #use(name: string): void {
    this.#names.add(name.toLowerCase());
  }

  #placeOf(node: TreeNode): number {
    return this.#characterAt(Number(node["query_location"] ?? 0));
  }

  /** Most queries have a byte for each character; counting them for each place would take the square of their length. */
  #characterAt(byte: number): number {
    return this.#isAscii ? byte : characterAt(this.#query, byte);
  }

  #onTable(table: BaseTable, read: boolean): void {
    const dialect = this.#dialect;
    const start = this.#placeOf(table);
    const { alias, table_name: name } = table;
    const place = placeOf(table, this.#text.namespace.name, dialect, start);
    if (alias === undefined && place.kind !== "bare") this.#qualified.add(`${place.schema}.${name.toLowerCase()}`);
    const isExpression = place.kind === "bare" && this.#expressions.has(name.toLowerCase());
    if (!isExpression) {
      const schema = place.kind === "bare" ? undefined : place.schema;
      const other = dialect?.relation?.(schema, name) ?? shownRelation(schema, name);
      if (other !== undefined) {
        this.#catalog = true;
        this.#replace(table, start, `${quote(other.schema)}.${quote(other.name)}`);
        return;
      }
    }
    if (place.kind === "catalog") {
      this.#catalog = true;
      return;
    }
    const isCatalog = place.kind === "bare" && bareCatalogName.test(name.toLowerCase());
    if (isCatalog) this.#catalog = true;
    const schema = place.kind === "table" ? place.schema : "collections";
    const { conditions = [], limit } = this.#bounds.get(table) ?? {};
    this.#tables.push({
      schema,
      name,
      optional: isExpression || isCatalog,
      position: start,
      read,
      ref: this.#refs.length,
      conditions,
      limit,
    });
    const named =
      table.catalog_name !== undefined || (place.kind === "table" && place.schema !== table.schema_name?.toLowerCase());
    const nearest = schema === "collections" && !isExpression && !isCatalog ? this.#nearest.get(table) : undefined;
    this.#refs.push({ schema, name, start, end: this.#endOfName(table, start), alias, read, named, nearest });
  }

  #replace(table: BaseTable, start: number, text: string): void {
    const named = table.alias === undefined ? `${text} AS ${quote(table.table_name)}` : text;
    this.#edits.push({ start, end: this.#endOfName(table, start), text: named });
  }

  /** The end of a table's name, with the schema and database before it. */
  #endOfName(table: BaseTable, start: number): number {
    const parts = [table.catalog_name, table.schema_name, table.table_name].filter((part) => part !== undefined);
    const at = this.#tokenStarts.get(start) ?? -1;
    for (const [i, part] of parts.entries()) {
      const token = this.#tokens[at + i * 2];
      const isName = token !== undefined && nameOf(this.#query, token).toLowerCase() === part.toLowerCase();
      // A string may stand for a name too.
      if (at === -1 || (!isName && token?.kind !== "text")) {
        throw sqlFault("unsupported", `the table ${table.table_name} is named in a way that can't be followed`);
      }
      if (i === parts.length - 1) return token!.end;
    }
    return start;
  }

  #onShow(show: ShowRef): void {
    const view = shownView(show);
    if (view === undefined) return;
    const node = this.#statement["node"];
    if (!isNode(node) || node["from_table"] !== show || this.#explained !== undefined) {
      throw sqlFault("unsupported", "SHOW must be the whole statement");
    }
    this.#catalog = true;
    const end = this.#query.length;
    this.#edits.push({ start: 0, end, text: `SELECT * FROM ${shownSchema}.${view}` });
  }

  #kind(): SqlStatementKind {
    if (this.#explained !== undefined) return "explain";
    const first = this.#tokens[0]!;
    switch (this.#query.slice(first.start, first.end).toLowerCase()) {
      case "show":
        return "show";
      case "describe":
      case "desc":
      case "summarize":
        return "describe";
      default:
        return "select";
    }
  }

  #parameterCount(): number {
    const map = (this.#statement["named_param_map"] as { key: string; value: number }[] | undefined) ?? [];
    let count = 0;
    for (const { key } of map) {
      if (!/^[1-9]\d{0,4}$/.test(key)) {
        throw sqlFault("parameter", `the parameter $${key} must be a number: use ? or $1`);
      }
      count = Math.max(count, Number(key));
    }
    return count;
  }
}
