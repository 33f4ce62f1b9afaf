import type { Condition } from "../../retrieval.ts";
import { type ColumnOf, conditionOf, conjuncts } from "./conditions.ts";
import { isTableRef } from "./guard.ts";
import { type ColumnRef, type FunctionCall, isNode, nodesOf, type TreeNode } from "./syntax-tree.ts";

/** A part of a `WHERE` that is about one retriever's own columns, as far as the text tells. */
export interface OwnTerm {
  readonly node: TreeNode;
  /** Where it is no more than columns and constants. */
  readonly condition: Condition | undefined;
  /** Columns with the retriever's name before them, in lower case. */
  readonly qualified: readonly string[];
  /** Names that are the retriever's if its collection has them. */
  readonly bare: readonly string[];
}

/** What a retriever is called in its select, and what else has a name there. */
export interface OwnNames {
  readonly own: string;
  readonly others: ReadonlySet<string>;
  /** Its columns have other names. */
  readonly renamed: readonly string[];
}

/** A part of the select list with a name, which a `WHERE` may use. */
export interface NamedItem extends Pick<OwnTerm, "node" | "qualified" | "bare"> {
  readonly name: string;
}

const scoreColumn = "_score";

/** The terms of a `WHERE` that can be checked before anything is retrieved. */
export function ownTerms(where: unknown, names: OwnNames): OwnTerm[] {
  const found: OwnTerm[] = [];
  for (const node of conjuncts(where)) {
    const used = usedNames(node, names);
    // What names no column is the same for every document, and left to the statement.
    if (used === undefined || used.qualified.length + used.bare.length === 0) continue;
    found.push({ node, condition: conditionOf(node, ownColumn(names)), ...used });
  }
  return found;
}

/** The named parts of a select list that are about the retriever alone. */
export function namedItems(select: TreeNode, names: OwnNames): NamedItem[] {
  const found: NamedItem[] = [];
  for (const node of (select["select_list"] as TreeNode[] | undefined) ?? []) {
    const { alias } = node as { alias?: unknown };
    if (typeof alias !== "string" || alias === "") continue;
    const used = usedNames(node, names);
    if (used !== undefined) found.push({ name: alias.toLowerCase(), node, ...used });
  }
  return found;
}

/** A plain column of the retriever's; whether its collection has it is for others to say. */
function ownColumn({ own, renamed }: OwnNames): ColumnOf {
  return (node) => {
    if (renamed.length > 0 || node.class !== "COLUMN_REF") return undefined;
    const names = (node as ColumnRef).column_names;
    if (names.length === 1) return names[0];
    return names.length === 2 && names[0]!.toLowerCase() === own ? names[1] : undefined;
  };
}

/** Expressions that are not about one row alone. */
const wider = new Set(["WINDOW", "STAR", "POSITIONAL_REFERENCE", "DEFAULT"]);
/** Functions that give another value each time: what they refuse now they may let through later. */
const changing = new Set(["random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "setseed", "nextval", "currval"]);

/** The columns that an expression uses; undefined when it uses more than the retriever's own. */
function usedNames(root: TreeNode, names: OwnNames): Pick<OwnTerm, "qualified" | "bare"> | undefined {
  const qualified = new Set<string>();
  const bare = new Set<string>();
  const parameters = new Set<string>();
  const scores = new Set([scoreColumn, names.renamed[1] ?? scoreColumn]);
  for (const node of nodesOf(root)) {
    const isTable = node.class === undefined && isTableRef(node.type) && node.type !== "EMPTY";
    if (isTable || wider.has(String(node.class))) return undefined;
    if (node.class === "FUNCTION" && changing.has((node as FunctionCall).function_name.toLowerCase())) return undefined;
    if (node.class === "CONSTANT" && !isExact(node["value"])) return undefined;
    if (node.class === "LAMBDA") for (const name of lambdaNames(node["lhs"])) parameters.add(name);
    if (node.class !== "COLUMN_REF") continue;
    const [first = "", second] = (node as ColumnRef).column_names.map((name) => name.toLowerCase());
    const isOwn = second !== undefined && first === names.own;
    if (second !== undefined && names.others.has(first)) return undefined;
    if (scores.has(isOwn ? second : first)) return undefined;
    if (isOwn) qualified.add(second);
    else bare.add(first);
  }
  for (const name of parameters) bare.delete(name);
  return { qualified: [...qualified], bare: [...bare] };
}

/** Whether a constant went through JSON as it is: the tree is written out again for SQL to check. */
function isExact(value: unknown): boolean {
  if (typeof value === "number")
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (!isNode(value)) return true;
  // A double is the same in JSON however large it is; of whole numbers beyond 2^53 digits are lost.
  if ((value["type"] as { id?: string } | undefined)?.id === "DOUBLE") return Number.isFinite(value["value"]);
  if (value["is_null"] === false && value["value"] === null) return false;
  return Object.values(value).every(isExact);
}

function* lambdaNames(node: unknown): Iterable<string> {
  if (!isNode(node)) return;
  for (const each of nodesOf(node)) {
    if (each.class === "COLUMN_REF") yield (each as ColumnRef).column_names[0]!.toLowerCase();
  }
}
