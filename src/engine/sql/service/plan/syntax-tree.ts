/** The parts of DuckDB's serialized syntax tree that the planner looks at. */
export interface TreeNode {
  readonly type?: unknown;
  readonly class?: unknown;
  readonly [key: string]: unknown;
}

export interface BaseTable extends TreeNode {
  readonly type: "BASE_TABLE";
  readonly table_name: string;
  readonly schema_name?: string;
  readonly catalog_name?: string;
  readonly alias?: string;
  readonly query_location?: number;
}

export interface FunctionCall extends TreeNode {
  readonly class: "FUNCTION";
  readonly function_name: string;
  readonly schema?: string;
  readonly catalog?: string;
  readonly children?: readonly TreeNode[];
  readonly query_location?: number;
}

export interface TableFunction extends TreeNode {
  readonly type: "TABLE_FUNCTION";
  readonly function: FunctionCall;
  readonly alias?: string;
  readonly query_location?: number;
}

export interface ShowRef extends TreeNode {
  readonly type: "SHOW_REF";
  readonly table_name?: string;
  readonly query?: TreeNode;
  readonly show_type: string;
}

export interface ColumnRef extends TreeNode {
  readonly class: "COLUMN_REF";
  readonly column_names: readonly string[];
  readonly query_location?: number;
}

export function isNode(value: unknown): value is TreeNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every node of a tree, parents first. */
export function* nodesOf(root: unknown): Iterable<TreeNode> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) open.push(value[i]);
    } else if (isNode(value)) {
      yield value;
      const inner = Object.values(value);
      for (let i = inner.length - 1; i >= 0; i--) if (typeof inner[i] === "object") open.push(inner[i]);
    }
  }
}

/** The text of a tree. A number that is too large for its type stands in it as no JSON does. */
export function parseTree(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/Infinity|NaN/.test(text)) throw error;
    return JSON.parse(withNumbers(text));
  }
}

const endless = /-?\b(?:Infinity|NaN)\b/g;
const numbers: Readonly<Record<string, string>> = { Infinity: "1e999", "-Infinity": "-1e999", NaN: "null" };

/** Strings stay as they are, whatever they say. */
function withNumbers(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const outside = text.slice(at, quote === -1 ? text.length : quote);
    out += outside.replace(endless, (name) => numbers[name]!);
    if (quote === -1) break;
    let end = quote + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
    out += text.slice(quote, end + 1);
    at = end + 1;
  }
  return out;
}
