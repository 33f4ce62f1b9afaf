import type { Comparison, Condition, Constant } from "../../retrieval.ts";
import { type FunctionCall, isNode, type TreeNode } from "./syntax-tree.ts";

/** The column that an expression is, where it is one of the table in question. */
export type ColumnOf = (node: TreeNode) => string | undefined;

/** The parts of a `WHERE`, all of which must hold. */
export function conjuncts(where: unknown): TreeNode[] {
  if (!isNode(where)) return [];
  if (where.type !== "CONJUNCTION_AND") return [where];
  return children(where).flatMap(conjuncts);
}

function children(node: TreeNode): TreeNode[] {
  const found = node["children"];
  return Array.isArray(found) ? found.filter(isNode) : [];
}

const comparisons: Readonly<Record<string, readonly [by: Comparison, mirrored: Comparison]>> = {
  COMPARE_EQUAL: ["=", "="],
  COMPARE_NOTEQUAL: ["<>", "<>"],
  COMPARE_LESSTHAN: ["<", ">"],
  COMPARE_LESSTHANOREQUALTO: ["<=", ">="],
  COMPARE_GREATERTHAN: [">", "<"],
  COMPARE_GREATERTHANOREQUALTO: [">=", "<="],
};

/** An expression as a condition on columns and constants; undefined for what is more than that. */
export function conditionOf(node: TreeNode, columnOf: ColumnOf): Condition | undefined {
  const type = String(node.type);
  const comparison = comparisons[type];
  if (comparison !== undefined) return compared(node, comparison, columnOf);
  switch (type) {
    case "CONJUNCTION_AND":
    case "CONJUNCTION_OR":
      return joined(type === "CONJUNCTION_AND" ? "and" : "or", children(node), columnOf);
    case "OPERATOR_NOT":
      return negated(children(node)[0], columnOf);
    case "OPERATOR_IS_NULL":
    case "OPERATOR_IS_NOT_NULL": {
      const column = columnOf(children(node)[0] ?? {});
      if (column === undefined) return undefined;
      const isNull: Condition = { op: "null", column };
      return type === "OPERATOR_IS_NULL" ? isNull : { op: "not", item: isNull };
    }
    case "COMPARE_IN":
    case "COMPARE_NOT_IN": {
      const found = within(children(node), columnOf);
      return found === undefined || type === "COMPARE_IN" ? found : { op: "not", item: found };
    }
    case "COMPARE_BETWEEN":
      return between(node, columnOf);
    case "FUNCTION":
      return liked(node as FunctionCall, columnOf);
    case "COLUMN_REF": {
      const column = columnOf(node);
      return column === undefined ? undefined : { op: "true", column };
    }
    default:
      return undefined;
  }
}

function joined(op: "and" | "or", nodes: readonly TreeNode[], columnOf: ColumnOf): Condition | undefined {
  const items = nodes.map((node) => conditionOf(node, columnOf));
  if (items.some((item) => item === undefined)) return undefined;
  return { op, items: items as Condition[] };
}

function negated(node: TreeNode | undefined, columnOf: ColumnOf): Condition | undefined {
  const item = node && conditionOf(node, columnOf);
  return item && { op: "not", item };
}

function compared(
  node: TreeNode,
  [by, mirrored]: readonly [Comparison, Comparison],
  columnOf: ColumnOf,
): Condition | undefined {
  const { left, right } = node as { left?: unknown; right?: unknown };
  if (!isNode(left) || !isNode(right)) return undefined;
  const column = columnOf(left);
  if (column !== undefined) {
    const value = constantOf(right);
    return value && { op: "compare", column, by, value };
  }
  const other = columnOf(right);
  const value = other === undefined ? undefined : constantOf(left);
  return value && { op: "compare", column: other!, by: mirrored, value };
}

function within([first, ...rest]: readonly TreeNode[], columnOf: ColumnOf): Condition | undefined {
  const column = first && columnOf(first);
  const values = rest.map(constantOf);
  if (column === undefined || values.some((value) => value === undefined)) return undefined;
  return { op: "in", column, values: values as Constant[] };
}

function between(node: TreeNode, columnOf: ColumnOf): Condition | undefined {
  const { input, lower, upper } = node as { input?: unknown; lower?: unknown; upper?: unknown };
  if (!isNode(input) || !isNode(lower) || !isNode(upper)) return undefined;
  const column = columnOf(input);
  const [low, high] = [constantOf(lower), constantOf(upper)];
  if (column === undefined || low === undefined || high === undefined) return undefined;
  return {
    op: "and",
    items: [
      { op: "compare", column, by: ">=", value: low },
      { op: "compare", column, by: "<=", value: high },
    ],
  };
}

function liked(node: FunctionCall, columnOf: ColumnOf): Condition | undefined {
  const isNot = node.function_name === "!~~";
  if (node.function_name !== "~~" && !isNot) return undefined;
  const [left, right] = node.children ?? [];
  const column = left && columnOf(left);
  const pattern = right && constantOf(right);
  if (column === undefined || pattern === undefined) return undefined;
  const like: Condition = { op: "like", column, pattern };
  return isNot ? { op: "not", item: like } : like;
}

interface ConstantValue {
  readonly is_null?: boolean;
  readonly value?: unknown;
  readonly type?: { readonly id?: string; readonly type_info?: { readonly scale?: number } };
}

/** A literal, a parameter, or a literal that is cast to a date or a truth value. */
export function constantOf(node: TreeNode): Constant | undefined {
  if (node.class === "PARAMETER") return { kind: "parameter", index: Number(node["identifier"]) - 1 };
  if (node.class === "CAST") return castConstant(node);
  if (node.class !== "CONSTANT") return undefined;
  const { is_null: isNull, value, type } = node["value"] as ConstantValue;
  if (isNull === true) return { kind: "value", value: null };
  if (typeof value === "number" && type?.id === "DECIMAL") {
    return { kind: "value", value: value / 10 ** (type.type_info?.scale ?? 0) };
  }
  const plain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return plain ? { kind: "value", value } : undefined;
}

const castable = new Set(["TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE", "VARCHAR"]);

function castConstant(node: TreeNode): Constant | undefined {
  const child = isNode(node["child"]) ? constantOf(node["child"]) : undefined;
  if (child === undefined) return undefined;
  const type = (node["cast_type"] as { id?: string } | undefined)?.id ?? "";
  if (castable.has(type)) return child;
  if (type !== "BOOLEAN" || child.kind !== "value") return undefined;
  if (child.value === "t" || child.value === "true") return { kind: "value", value: true };
  return child.value === "f" || child.value === "false" ? { kind: "value", value: false } : undefined;
}
