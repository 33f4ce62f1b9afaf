import type { Condition, RowLimit } from "../retrieval.ts";
import { conditionOf, conjuncts, constantOf } from "./conditions.ts";
import type { Token } from "./lexer.ts";
import { isRetriever, type RetrieverCall, readCall } from "./retriever-call.ts";
import { type BaseTable, type ColumnRef, isNode, nodesOf, type TableFunction, type TreeNode } from "./syntax-tree.ts";

/** Where a statement calls a retriever. */
export interface RetrievalRef {
  readonly call: RetrieverCall;
  readonly start: number;
  readonly end: number;
  readonly alias: string | undefined;
  readonly conditions: readonly Condition[];
  readonly limit: RowLimit | undefined;
}

/** What a statement asks of one of its tables or retrievers. */
export interface Bounds {
  readonly conditions: readonly Condition[];
  readonly limit: RetrievalRef["limit"];
}

export function isRetrieval(node: TreeNode): node is TableFunction {
  return node.type === "TABLE_FUNCTION" && isRetriever((node as TableFunction).function.function_name);
}

/** The conditions and limits of each table and retriever of a statement. */
export function boundsOf(nodes: readonly TreeNode[]): Map<TreeNode, Bounds> {
  const found = new Map<TreeNode, Bounds>();
  for (const node of nodes) {
    if (node.type !== "SELECT_NODE" || !isNode(node["from_table"])) continue;
    const from = node["from_table"];
    const isAlone = from.type !== "JOIN";
    for (const ref of kept(from)) {
      if (!isRetrieval(ref) && ref.type !== "BASE_TABLE") continue;
      const columnOf = columnsOf(ref, isAlone);
      const parts = conjuncts(node["where_clause"]).map((part) => conditionOf(part, columnOf));
      const conditions = parts.filter((part) => part !== undefined);
      const isWhole = conditions.length === parts.length;
      found.set(ref, { conditions, limit: isAlone && isWhole ? limitOf(node) : undefined });
    }
  }
  return found;
}

/** The parts of a join of which a row that the `WHERE` refuses can be left out before the join. */
function kept(ref: TreeNode): TreeNode[] {
  if (ref.type !== "JOIN") return [ref];
  const { left, right, join_type: type } = ref as { left?: unknown; right?: unknown; join_type?: unknown };
  const found: TreeNode[] = [];
  if ((type === "INNER" || type === "LEFT" || type === "SEMI" || type === "ANTI") && isNode(left))
    found.push(...kept(left));
  if (type === "INNER" && isNode(right)) found.push(...kept(right));
  return found;
}

function columnsOf(ref: TreeNode, isAlone: boolean): (node: TreeNode) => string | undefined {
  // Columns with other names are not followed.
  const isRenamed = Array.isArray(ref["column_name_alias"]) && ref["column_name_alias"].length > 0;
  const called = isRetrieval(ref) ? ref.function.function_name : (ref as BaseTable).table_name;
  const name = ((ref["alias"] as string | undefined) ?? called).toLowerCase();
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
  const given = modifier["offset"];
  const offset = isNode(given) ? constantOf(given) : undefined;
  if (limit === undefined || (isNode(given) && offset === undefined)) return undefined;
  return { limit, offset };
}

/** Reads the call where its node says it stands. */
export function retrievalRef(
  ref: TableFunction,
  start: number,
  bounds: Bounds | undefined,
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
    conditions: bounds?.conditions ?? [],
    limit: bounds?.limit,
  };
}
