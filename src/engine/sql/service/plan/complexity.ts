import { sqlFault } from "../../fault.ts";
import type { TreeNode } from "./syntax-tree.ts";

/**
 * What takes the database so long before it runs that nothing could stop it: it looks for a wish to end only while it
 * runs. All of these are far beyond what statements have.
 */
const limits = {
  /** Lists, structs and maps in one another, by their text or their type: the time grows with the cube of the levels. */
  valueLevelsMax: 100,
  /** Aggregates and subqueries over one another: the time doubles with each, a second with 20. */
  queryLevelsMax: 16,
  /** Queries and tables of a statement whose NOT MATERIALIZED ones are put in wherever they are named. */
  partsMax: 1_000,
  /** Tables of one FROM: the order of 60 takes seconds to find, that of 100 minutes. */
  joinedMax: 60,
} as const;

/** What makes a value of others in it. */
const nesting = new Set(["list_value", "struct_pack", "row", "map", "list_pack", "array_value"]);
/** Functions that make a type of a text. */
const typing = new Set(["from_json", "from_json_strict", "json_transform", "json_transform_strict"]);

const aggregates = new Set(
  (
    "any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_max_nulls_last arg_min " +
    "arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or corr " +
    "count count_if count_star countif covar_pop covar_samp entropy favg first fsum group_concat histogram histogram_exact " +
    "kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile " +
    "quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy " +
    "reservoir_quantile sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp " +
    "variance"
  ).split(" "),
);

/** For the test that holds it against what the database has. */
export const knownAggregates: ReadonlySet<string> = aggregates;

/** `query` is the text of the tree, which does not tell what is NOT MATERIALIZED. */
export function checkComplexity(root: object, query: string): void {
  checkNesting(root);
  const isPutIn = /\bmaterialized\b/i.test(query);
  const { levels, parts } = new QueryWalk(isPutIn).of(root);
  if (levels > limits.queryLevelsMax) {
    throw tooMuch(`aggregates and subqueries are over one another more than ${limits.queryLevelsMax} levels deep`);
  }
  if (isPutIn && parts > limits.partsMax)
    throw tooMuch(`more than ${limits.partsMax} queries and tables are put together`);
}

function tooMuch(message: string) {
  return sqlFault("unsupported", message);
}

function checkNesting(root: object): void {
  const open: { readonly node: object; readonly depth: number }[] = [{ node: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    const nests = nestsOthers(node as TreeNode);
    if (nests && depth >= limits.valueLevelsMax) {
      throw tooMuch(`lists, structs and maps nest more than ${limits.valueLevelsMax} levels deep`);
    }
    const innerDepth = nests ? depth + 1 : depth;
    for (const inner of Object.values(node)) {
      // Most of a tree are texts and numbers.
      if (typeof inner === "object" && inner !== null) open.push({ node: inner, depth: innerDepth });
    }
  }
}

function nestsOthers(node: TreeNode): boolean {
  const { type, function_name: name } = node;
  if (typeof name === "string") {
    const lower = name.toLowerCase();
    if (typing.has(lower)) checkStructure(lower, node["children"] as readonly TreeNode[] | undefined);
    return nesting.has(lower);
  }
  return type === "ARRAY_CONSTRUCTOR" || node["type_info"] !== undefined;
}

/** The second argument says of what type the result is. */
function checkStructure(name: string, args: readonly TreeNode[] | undefined): void {
  const text = (args?.[1]?.["value"] as { readonly value?: unknown } | undefined)?.value;
  if (typeof text !== "string") throw tooMuch(`the structure that ${name} is given must be written out`);
  let depth = 0;
  for (const character of text) {
    if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth--;
    if (depth > limits.valueLevelsMax) {
      throw tooMuch(`the structure that ${name} is given nests more than ${limits.valueLevelsMax} levels deep`);
    }
  }
}

interface Measure {
  /** Aggregates and subqueries over one another. */
  readonly levels: number;
  readonly parts: number;
}

const nothing: Measure = { levels: 0, parts: 0 };

interface CommonTable {
  readonly key: string;
  readonly value: { readonly query?: object };
}

/** Measures a tree; what WITH names is measured where it stands and counted where it is named. */
class QueryWalk {
  /** Whether what WITH names may be put in wherever it is named; else it is worked out once. */
  readonly #isPutIn: boolean;
  #known: ReadonlyMap<string, Measure> = new Map();

  constructor(isPutIn: boolean) {
    this.#isPutIn = isPutIn;
  }

  of(node: object): Measure {
    // Most of a long statement are the values of a list.
    if ((node as TreeNode).class === "CONSTANT") return nothing;
    const outside = this.#known;
    this.#addCommon(node);
    let levels = 0;
    let parts = 0;
    for (const [name, inner] of Object.entries(node)) {
      if (typeof inner !== "object" || inner === null || name === "cte_map") continue;
      const found = this.of(inner);
      levels = Math.max(levels, found.levels);
      // Beyond the bound the number does not matter, and must not overflow.
      parts = Math.min(parts + found.parts, limits.partsMax + 1);
    }
    const own = this.#ownOf(node as TreeNode);
    this.#known = outside;
    return { levels: levels + own.levels, parts: Math.min(parts + own.parts, limits.partsMax + 1) };
  }

  #addCommon(node: object): void {
    const { map } = (node as { readonly cte_map?: { readonly map?: readonly CommonTable[] } }).cte_map ?? {};
    if (map === undefined) return;
    for (const { key, value } of map) {
      const name = key.toLowerCase();
      // One that names itself adds nothing to itself.
      const inside = new Map(this.#known).set(name, nothing);
      this.#known = inside;
      const found = value.query === undefined ? nothing : this.of(value.query);
      this.#known = new Map(inside).set(name, this.#isPutIn ? found : { levels: found.levels, parts: 1 });
    }
  }

  #ownOf(node: TreeNode): Measure {
    if (node.class === "SUBQUERY") return { levels: 1, parts: 0 };
    if (node.type === "SELECT_NODE") {
      if (joinedOf(node["from_table"]) > limits.joinedMax) {
        throw tooMuch(`more than ${limits.joinedMax} tables are joined in one FROM`);
      }
      return { levels: isAggregating(node) ? 1 : 0, parts: 1 };
    }
    if (node.type !== "BASE_TABLE") return nothing;
    const isBare = node["schema_name"] === undefined || node["schema_name"] === "";
    const common = isBare ? this.#known.get(String(node["table_name"]).toLowerCase()) : undefined;
    return common ?? { levels: 0, parts: 1 };
  }
}

function joinedOf(from: unknown): number {
  let joined = 0;
  const open = [from];
  while (open.length > 0) {
    const ref = open.pop() as TreeNode | undefined;
    if (ref?.type === "JOIN") open.push(ref["left"], ref["right"]);
    else joined++;
  }
  return joined;
}

function isAggregating(select: TreeNode): boolean {
  if (select["aggregate_handling"] === "FORCE_AGGREGATES" || select["group_expressions"] !== undefined) return true;
  const open: unknown[] = [select["select_list"], select["having"], select["qualify"], select["modifiers"]];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const { class: kind, function_name: name } = next as TreeNode;
    // What stands in a subquery is its own.
    if (kind === "SUBQUERY") continue;
    if (kind === "FUNCTION" && typeof name === "string" && aggregates.has(name.toLowerCase())) return true;
    for (const inner of Object.values(next)) open.push(inner);
  }
  return false;
}
