import type { Condition, RowLimit } from "../../retrieval.ts";
import { conditionOf, conjuncts, constantOf } from "./conditions.ts";
import type { Token } from "./lexer.ts";
import { type NamedItem, namedItems, type OwnNames, type OwnTerm, ownTerms } from "./own-terms.ts";
import { isRetriever, type RetrieverCall, readCall } from "./retriever-call.ts";
import { type ColumnRef, isNode, nodesOf, type TableFunction, type TreeNode } from "./syntax-tree.ts";

/** Where a statement calls a retriever. */
export interface RetrievalRef {
  readonly call: RetrieverCall;
  readonly start: number;
  readonly end: number;
  readonly alias: string | undefined;
  /** What the statement asks of its rows that can be checked before they are found. */
  readonly terms: readonly OwnTerm[];
  readonly items: readonly NamedItem[];
  /** Other names of its columns, in their order. */
  readonly renamed: readonly string[];
  readonly limit: RowLimit | undefined;
}

/** What a statement asks of one of its tables. */
export interface Bounds {
  readonly conditions: readonly Condition[];
  readonly limit: RetrievalRef["limit"];
}

/** What it asks of one of its retrievers. */
export type RetrievalBounds = Pick<RetrievalRef, "terms" | "items" | "renamed" | "limit">;

export interface StatementBounds {
  readonly tables: ReadonlyMap<TreeNode, Bounds>;
  readonly retrievals: ReadonlyMap<TreeNode, RetrievalBounds>;
}

export function isRetrieval(node: TreeNode): node is TableFunction {
  return node.type === "TABLE_FUNCTION" && isRetriever((node as TableFunction).function.function_name);
}

/** The conditions and limits of each table and retriever of a statement. */
export function boundsOf(nodes: readonly TreeNode[]): StatementBounds {
  const tables = new Map<TreeNode, Bounds>();
  const retrievals = new Map<TreeNode, RetrievalBounds>();
  for (const node of nodes) {
    if (node.type !== "SELECT_NODE" || !isNode(node["from_table"])) continue;
    const from = node["from_table"];
    const isAlone = from.type !== "JOIN";
    for (const ref of filterableSides(from)) {
      if (isRetrieval(ref)) retrievals.set(ref, retrievalBounds(ref, node, from));
      else if (ref.type === "BASE_TABLE") tables.set(ref, tableBounds(ref, node, isAlone));
    }
  }
  return { tables, retrievals };
}

function tableBounds(ref: TreeNode, select: TreeNode, isAlone: boolean): Bounds {
  const columnOf = columnsOf(ref, isAlone);
  const parts = conjuncts(select["where_clause"]).map((part) => conditionOf(part, columnOf));
  const conditions = parts.filter((part) => part !== undefined);
  const isWhole = conditions.length === parts.length;
  return { conditions, limit: isAlone && isWhole ? limitOf(select) : undefined };
}

function retrievalBounds(ref: TreeNode, select: TreeNode, from: TreeNode): RetrievalBounds {
  const others = new Set<string>();
  for (const each of leaves(from)) if (each !== ref) others.add(nameOf(each));
  const names: OwnNames = { own: nameOf(ref), others, renamed: renamedOf(ref) };
  const terms = ownTerms(select["where_clause"], names);
  const isWhole = from === ref && terms.length === conjuncts(select["where_clause"]).length;
  return {
    terms,
    items: namedItems(select, names),
    renamed: names.renamed,
    limit: isWhole ? limitOf(select) : undefined,
  };
}

/** The tables of a join, however deep. */
function leaves(ref: TreeNode): TreeNode[] {
  if (ref.type !== "JOIN") return [ref];
  return [ref["left"], ref["right"]].filter(isNode).flatMap(leaves);
}

function nameOf(ref: TreeNode): string {
  const called = ref.type === "TABLE_FUNCTION" ? (ref as TableFunction).function.function_name : ref["table_name"];
  return String(ref["alias"] ?? called ?? "").toLowerCase();
}

function renamedOf(ref: TreeNode): string[] {
  const names = ref["column_name_alias"];
  return Array.isArray(names) ? names.map((name) => String(name).toLowerCase()) : [];
}

const keepsLeft = new Set(["INNER", "LEFT", "SEMI", "ANTI"]);
const keepsRight = new Set(["INNER", "RIGHT"]);

/** The parts of a join of which a row that the `WHERE` refuses can be left out before the join. */
function filterableSides(ref: TreeNode): TreeNode[] {
  if (ref.type !== "JOIN") return [ref];
  const { left, right, join_type: type, ref_type: how } = ref;
  // Rows that are put side by side, or beside the nearest, find another one when some are left out.
  if (how === "POSITIONAL") return [];
  const found: TreeNode[] = [];
  if (keepsLeft.has(String(type)) && isNode(left)) found.push(...filterableSides(left));
  if (keepsRight.has(String(type)) && how !== "ASOF" && isNode(right)) found.push(...filterableSides(right));
  return found;
}

export function columnsOf(ref: TreeNode, isAlone: boolean): (node: TreeNode) => string | undefined {
  // Columns with other names are not followed.
  const isRenamed = renamedOf(ref).length > 0;
  const name = nameOf(ref);
  return (node) => {
    if (isRenamed || node.class !== "COLUMN_REF") return undefined;
    const names = (node as ColumnRef).column_names;
    if (names.length === 1 && isAlone) return names[0];
    return names.length === 2 && names[0]!.toLowerCase() === name ? names[1] : undefined;
  };
}

/** The limit of a select that shows the rows of its table as they come. */
function limitOf(select: TreeNode): RetrievalRef["limit"] {
  const modifiers = (select["modifiers"] as TreeNode[] | undefined) ?? [];
  const [modifier] = modifiers;
  if (modifiers.length !== 1 || modifier?.type !== "LIMIT_MODIFIER" || !isNode(modifier["limit"])) return undefined;
  const gathers = ["group_expressions", "group_sets", "having", "qualify", "sample"].some((key) => {
    const value = select[key];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
  });
  if (gathers) return undefined;
  for (const node of nodesOf(select["select_list"])) {
    // A function may be an aggregate, which takes all rows.
    if (node.class === "WINDOW" || node.class === "SUBQUERY") return undefined;
    if (node.class === "FUNCTION" && node["is_operator"] !== true) return undefined;
  }
  const limit = constantOf(modifier["limit"]);
  const input = modifier["offset"];
  const offset = isNode(input) ? constantOf(input) : undefined;
  if (limit === undefined || (isNode(input) && offset === undefined)) return undefined;
  return { limit, offset };
}

/** Reads the call where its node says it stands. */
export function retrievalRef(
  ref: TableFunction,
  start: number,
  bounds: RetrievalBounds | undefined,
  query: string,
  tokens: readonly Token[],
): RetrievalRef {
  const at = tokens.findIndex((token) => token.start === start);
  const { call, end } = readCall(query, tokens, at);
  return {
    call,
    start,
    end: tokens[end - 1]!.end,
    alias: ref.alias,
    terms: bounds?.terms ?? [],
    items: bounds?.items ?? [],
    renamed: bounds?.renamed ?? [],
    limit: bounds?.limit,
  };
}
