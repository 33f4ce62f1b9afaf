import type { Constant, PlainItem, PlainSelect, PlainTest } from "../../retrieval.ts";
import { conjuncts, constantOf } from "./conditions.ts";
import { isRetrieval } from "./retrieval-refs.ts";
import { type ColumnRef, isNode, type TreeNode } from "./syntax-tree.ts";

/** What the nodes of such a statement hold at most; whatever else one holds makes it another statement. */
const keys = {
  select: new Set(["type", "modifiers", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling"]),
  from: new Set(["type", "alias", "query_location", "function"]),
  star: new Set(["class", "type", "query_location", "exclude_list"]),
  column: new Set(["class", "type", "alias", "query_location", "column_names"]),
  limit: new Set(["type", "limit", "offset"]),
};

function hasOnly(node: TreeNode, allowed: ReadonlySet<string>): boolean {
  return Object.keys(node).every((key) => allowed.has(key));
}

/**
 * A select that does no more than show what one retriever finds: columns as they are, plain equalities, a limit. There
 * is nothing in it for DuckDB to do. Undefined for every other statement.
 */
export function plainSelect(statement: TreeNode): PlainSelect | undefined {
  const select = statement["node"];
  if (!isNode(select) || select.type !== "SELECT_NODE" || !hasOnly(select, keys.select)) return undefined;
  const { from_table: from, cte_map: expressions, aggregate_handling: gathers } = select;
  if (!isNode(from) || !isRetrieval(from) || !hasOnly(from, keys.from)) return undefined;
  if (!isNode(expressions) || Object.keys(expressions).length > 0 || gathers !== "STANDARD_HANDLING") return undefined;
  const items = all((select["select_list"] as TreeNode[] | undefined) ?? [], itemOf);
  const tests = all(conjuncts(select["where_clause"]), testOf);
  const limit = limitOf((select["modifiers"] as TreeNode[] | undefined) ?? []);
  if (items === undefined || tests === undefined || limit === undefined) return undefined;
  return { items, tests, ...limit };
}

function all<T>(nodes: readonly TreeNode[], each: (node: TreeNode) => T | undefined): T[] | undefined {
  const found: T[] = [];
  for (const node of nodes) {
    const result = each(node);
    if (result === undefined) return undefined;
    found.push(result);
  }
  return found;
}

function itemOf(node: TreeNode): PlainItem | undefined {
  if (node.class === "STAR") {
    const isWhole = Array.isArray(node["exclude_list"]) && node["exclude_list"].length === 0;
    return isWhole && hasOnly(node, keys.star) ? { kind: "all" } : undefined;
  }
  const column = columnOf(node);
  if (column === undefined || !hasOnly(node, keys.column)) return undefined;
  const { alias } = node as { alias?: string };
  return { kind: "column", column, name: alias ?? column };
}

function columnOf(node: unknown): string | undefined {
  if (!isNode(node) || node.class !== "COLUMN_REF") return undefined;
  const [name, ...more] = (node as ColumnRef).column_names;
  return more.length === 0 ? name : undefined;
}

function testOf(node: TreeNode): PlainTest | undefined {
  if (node.type === "COMPARE_EQUAL") {
    const { left, right } = node as { left?: unknown; right?: unknown };
    const column = columnOf(left) ?? columnOf(right);
    const value = literalOf(columnOf(left) === undefined ? left : right);
    return column === undefined || value === undefined ? undefined : { column, values: [value] };
  }
  if (node.type !== "COMPARE_IN") return undefined;
  const [first, ...rest] = (node["children"] as TreeNode[] | undefined) ?? [];
  const column = columnOf(first);
  const values = all(rest, literalOf);
  return column === undefined || values === undefined ? undefined : { column, values };
}

const literalTypes = new Set(["VARCHAR", "INTEGER", "BIGINT"]);

/** Nothing that is converted before it is compared. */
function literalOf(node: unknown): Constant | undefined {
  if (!isNode(node)) return undefined;
  if (node.class === "CONSTANT") {
    const { type } = node["value"] as { type?: { id?: string } };
    return literalTypes.has(type?.id ?? "") ? constantOf(node) : undefined;
  }
  return node.class === "PARAMETER" ? constantOf(node) : undefined;
}

function limitOf(modifiers: readonly TreeNode[]): Pick<PlainSelect, "limit" | "offset"> | undefined {
  const [modifier, ...more] = modifiers;
  if (modifier === undefined) return { limit: undefined, offset: undefined };
  if (more.length > 0 || modifier.type !== "LIMIT_MODIFIER" || !hasOnly(modifier, keys.limit)) return undefined;
  const limit = literalOf(modifier["limit"]);
  const offset = literalOf(modifier["offset"]);
  const isRead = (limit === undefined) === (modifier["limit"] === undefined);
  return isRead && (offset === undefined) === (modifier["offset"] === undefined) ? { limit, offset } : undefined;
}
