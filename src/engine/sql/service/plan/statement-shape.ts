import { constantOf } from "./conditions.ts";
import { isNode, type TreeNode } from "./syntax-tree.ts";

/** Rows up to which a result counts as few. */
const fewRows = 10_000;

/** A limit, groups (which are held in memory anyway) or nothing to read from. */
export function isSmall(select: unknown): boolean {
  if (!isNode(select) || select.type !== "SELECT_NODE") return false;
  const groups = select["group_expressions"];
  if (Array.isArray(groups) && groups.length > 0) return true;
  const from = select["from_table"];
  if (isNode(from) && from.type === "EMPTY") return true;
  for (const modifier of (select["modifiers"] as TreeNode[] | undefined) ?? []) {
    const limit =
      modifier.type === "LIMIT_MODIFIER" && isNode(modifier["limit"]) ? constantOf(modifier["limit"]) : undefined;
    if (limit?.kind === "value" && typeof limit.value === "number" && limit.value <= fewRows) return true;
  }
  return false;
}

/** Names that `WITH` gives. */
export function expressionNames(node: TreeNode): string[] {
  const map = isNode(node["cte_map"]) ? node["cte_map"]["map"] : undefined;
  return Array.isArray(map) ? map.map((entry: { key: string }) => entry.key) : [];
}
