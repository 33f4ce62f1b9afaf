import type { Distance } from "../../../schema/schema.ts";
import { type Condition, type Constant, type PlannedNearest, type RowLimit, rowsOf } from "../../retrieval.ts";
import type { SqlParameter, SqlValue } from "../../sql.ts";
import { type ColumnOf, conditionOf, conjuncts, constantOf } from "./conditions.ts";
import { columnsOf } from "./retrieval-refs.ts";
import { type BaseTable, type FunctionCall, isNode, nodesOf, type TreeNode } from "./syntax-tree.ts";

/** A select of the rows of one table that are nearest to a vector: what an index of its vectors may propose. */
export interface NearestRef {
  readonly column: string;
  readonly distance: Distance;
  /** A literal or a parameter. */
  readonly query: TreeNode;
  /** The name of the select list that the rows are ordered by, where they are so. */
  readonly label: string | undefined;
  readonly conditions: readonly Condition[];
  readonly limit: RowLimit;
}

const distances: Readonly<Record<string, Distance>> = {
  "<->": "l2",
  array_distance: "l2",
  list_distance: "l2",
  "<=>": "cosine",
  array_cosine_distance: "cosine",
  list_cosine_distance: "cosine",
  // What `<#>` is rewritten to.
  negative_inner_product: "dot",
  array_negative_inner_product: "dot",
  list_negative_inner_product: "dot",
};

/** What the nodes of such a select hold at most. */
const keys = {
  select: new Set(["type", "modifiers", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling"]),
  from: new Set(["type", "alias", "query_location", "table_name", "schema_name", "catalog_name"]),
  star: new Set(["class", "type", "query_location", "exclude_list", "relation_name"]),
};

function hasOnly(node: TreeNode, allowed: ReadonlySet<string>): boolean {
  return Object.keys(node).every((key) => allowed.has(key));
}

/** The tables of a statement that such selects read. */
export function nearestRefs(nodes: readonly TreeNode[]): ReadonlyMap<TreeNode, NearestRef> {
  const found = new Map<TreeNode, NearestRef>();
  for (const node of nodes) {
    const from = node["from_table"];
    if (node.type !== "SELECT_NODE" || !isNode(from) || from.type !== "BASE_TABLE") continue;
    const nearest = nearestRef(node, from as BaseTable);
    if (nearest !== undefined) found.set(from, nearest);
  }
  return found;
}

function nearestRef(select: TreeNode, from: BaseTable): NearestRef | undefined {
  if (!hasOnly(select, keys.select) || !hasOnly(from, keys.from)) return undefined;
  if (select["aggregate_handling"] !== "STANDARD_HANDLING") return undefined;
  const items = (select["select_list"] as TreeNode[] | undefined) ?? [];
  if (!items.every(keepsRows)) return undefined;
  const columnOf = columnsOf(from, true);
  const limit = limitOf((select["modifiers"] as TreeNode[] | undefined) ?? []);
  const order = orderOf((select["modifiers"] as TreeNode[] | undefined) ?? [], columnOf);
  if (limit === undefined || order === undefined) return undefined;
  const ordered = orderedBy(order, items);
  const measured = ordered && distanceOf(ordered.expression, columnOf);
  // A name of the select list may mean something else than the column.
  if (measured === undefined || named(items, measured.column).length > 0) return undefined;
  const conditions = conjuncts(select["where_clause"]).map((part) => conditionOf(part, columnOf));
  if (conditions.some((condition) => condition === undefined)) return undefined;
  return { ...measured, label: ordered!.label, limit, conditions: conditions as Condition[] };
}

/** Functions that give one value for a row; one that is not listed may make several rows of it, or none. */
const scalar = new Set("abs concat left length lower right round substr substring trim upper".split(" "));

function keepsRows(item: TreeNode): boolean {
  for (const node of nodesOf(item)) {
    if (node.class === "STAR" && !hasOnly(node, keys.star)) return false;
    if (node.class === "WINDOW" || node.class === "SUBQUERY") return false;
    if (node.class !== "FUNCTION" || node["is_operator"] === true) continue;
    const name = (node as FunctionCall).function_name;
    if (!scalar.has(name) && !Object.hasOwn(distances, name) && !isList(node)) return false;
  }
  return true;
}

/** What the rows are ordered by, ascending; their ids may decide between equal ones, as the index has it. */
function orderOf([modifier]: readonly TreeNode[], columnOf: ColumnOf): TreeNode | undefined {
  if (modifier?.type !== "ORDER_MODIFIER") return undefined;
  const [order, byId, ...more] = (modifier["orders"] as TreeNode[] | undefined) ?? [];
  if (order === undefined || more.length > 0) return undefined;
  for (const each of [order, ...(byId === undefined ? [] : [byId])]) {
    if (each.type === "DESCENDING" || each["null_order"] === "NULLS FIRST") return undefined;
  }
  const second = byId?.["expression"];
  if (isNode(second) && columnOf(second)?.toLowerCase() !== "_id") return undefined;
  return isNode(order["expression"]) ? order["expression"] : undefined;
}

function limitOf(modifiers: readonly TreeNode[]): RowLimit | undefined {
  const [, modifier] = modifiers;
  if (modifiers.length !== 2 || modifier?.type !== "LIMIT_MODIFIER" || !isNode(modifier["limit"])) return undefined;
  const limit = constantOf(modifier["limit"]);
  const input = modifier["offset"];
  const offset = isNode(input) ? constantOf(input) : undefined;
  return limit === undefined || (isNode(input) && offset === undefined) ? undefined : { limit, offset };
}

/** The expression itself, or the one that has its name in the select list. */
function orderedBy(
  expression: TreeNode,
  items: readonly TreeNode[],
): { expression: TreeNode; label: string | undefined } | undefined {
  if (expression.class !== "COLUMN_REF") return { expression, label: undefined };
  const [label = "", ...more] = expression["column_names"] as readonly string[];
  const [item, ...others] = named(items, label);
  return item === undefined || more.length + others.length > 0 ? undefined : { expression: item, label };
}

function named(items: readonly TreeNode[], name: string): TreeNode[] {
  return items.filter(({ alias }) => typeof alias === "string" && alias.toLowerCase() === name.toLowerCase());
}

function distanceOf(node: TreeNode, columnOf: ColumnOf): Pick<NearestRef, "column" | "distance" | "query"> | undefined {
  if (node.class !== "FUNCTION") return undefined;
  const { function_name: name, children = [] } = node as FunctionCall;
  const distance = Object.hasOwn(distances, name) ? distances[name] : undefined;
  const [left, right, ...more] = children;
  if (distance === undefined || left === undefined || right === undefined || more.length > 0) return undefined;
  const [column, query] = columnOf(left) === undefined ? [columnOf(right), left] : [columnOf(left), right];
  return column === undefined ? undefined : { column, distance, query };
}

/** Whom such a select asks for what; undefined where a value that it needs is none. */
export function plannedNearest(
  { limit, query, ...nearest }: NearestRef,
  params: readonly SqlParameter[],
): Omit<PlannedNearest, "ref" | "collection" | "position"> | undefined {
  const rows = rowsOf(limit, params);
  const vector = vectorOf(query, params);
  return rows === undefined || vector === undefined ? undefined : { ...nearest, rows, query: vector };
}

function isList(node: TreeNode): boolean {
  return node.type === "ARRAY_CONSTRUCTOR" || node["function_name"] === "list_value";
}

function vectorOf(node: TreeNode, params: readonly SqlParameter[]): SqlValue | undefined {
  if (node.class === "CAST") {
    return isNode(node["child"]) && isFloats(node["cast_type"]) ? vectorOf(node["child"], params) : undefined;
  }
  if (isList(node)) {
    const numbers = ((node["children"] as TreeNode[] | undefined) ?? []).map((child) => plainValue(child, params));
    return numbers.every((number) => typeof number === "number") ? numbers : undefined;
  }
  return plainValue(node, params);
}

function plainValue(node: TreeNode, params: readonly SqlParameter[]): SqlValue | undefined {
  const constant = node.class === "CAST" ? undefined : (constantOf(node) ?? longDecimal(node["value"]));
  return constant?.kind === "parameter" ? params[constant.index]?.value : constant?.value;
}

/** A number of many digits, which come as two halves: as good as it takes to propose rows by it. */
function longDecimal(constant: unknown): Constant | undefined {
  if (!isNode(constant) || !isNode(constant["value"]) || !isNode(constant["type"])) return undefined;
  const { upper, lower } = constant["value"];
  const info = constant["type"]["type_info"];
  const scale = isNode(info) ? info["scale"] : undefined;
  if (typeof upper !== "number" || typeof lower !== "number" || typeof scale !== "number") return undefined;
  return { kind: "value", value: (upper * 2 ** 64 + lower) / 10 ** scale };
}

/** A list or array of numbers with a fraction: any other would change them. */
function isFloats(type: unknown): boolean {
  const info = isNode(type) ? type["type_info"] : undefined;
  const child = isNode(info) ? info["child_type"] : undefined;
  const item = isNode(child) ? child["id"] : undefined;
  return item === "FLOAT" || item === "DOUBLE";
}
