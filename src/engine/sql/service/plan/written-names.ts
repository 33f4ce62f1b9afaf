import type { Edit } from "../edits.ts";
import type { Token } from "./lexer.ts";
import { isNode, type TreeNode } from "./syntax-tree.ts";

type Span = Pick<Edit, "start" | "end">;

const nameLengthMax = 256;
const listEnds = new Set(
  "from where group having order limit union intersect except window qualify offset using sample".split(" "),
);

/** The select list that names the columns of a statement. */
function selectList(statement: TreeNode): readonly TreeNode[] {
  let node: unknown = statement["node"];
  while (isNode(node) && node.type === "SET_OPERATION_NODE") node = node["left"];
  return isNode(node) && node.type === "SELECT_NODE" ? ((node["select_list"] as TreeNode[] | undefined) ?? []) : [];
}

/** Where the items of that list stand; none where that is uncertain. */
function itemSpans(query: string, tokens: readonly Token[]): Span[] {
  const textOf = (token: Token | undefined) =>
    token === undefined ? "" : query.slice(token.start, token.end).toLowerCase();
  const sideOf = (token: Token | undefined) => {
    const text = token?.kind === "sign" ? textOf(token) : "";
    return text !== "" && "([{".includes(text) ? 1 : text !== "" && ")]}".includes(text) ? -1 : 0;
  };
  const closingBracket = (opening: number) => {
    let at = opening;
    for (let depth = sideOf(tokens[at]); depth > 0 && at < tokens.length; ) depth += sideOf(tokens[++at]);
    return at;
  };
  /** The words of IS DISTINCT FROM, and OFFSET where it can be no clause: a stream's column. */
  const isWithinItem = (i: number) => {
    const before = tokens[i - 1];
    if (textOf(tokens[i]) !== "offset") return textOf(before) === "distinct";
    return i === first || (before?.kind === "sign" && sideOf(before) !== -1);
  };
  const spans: Span[] = [];
  let depth = 0;
  let first: number | undefined;
  for (let i = 0; i <= tokens.length; i++) {
    const text = textOf(tokens[i]);
    depth += sideOf(tokens[i]);
    if (depth > 0) continue;
    if (first === undefined) {
      if (text === "select") first = i + 1;
      continue;
    }
    if (i === first && text === "all") first = i + 1;
    if (i === first && text === "distinct") first = i + 1;
    if (i === first && text === "on" && textOf(tokens[i - 1]) === "distinct") {
      i = closingBracket(i + 1);
      first = i + 1;
      continue;
    }
    const isEnd = text === "" || text === ";" || (listEnds.has(text) && !isWithinItem(i));
    if (!isEnd && text !== ",") continue;
    if (i > first) spans.push({ start: tokens[first]!.start, end: tokens[i - 1]!.end });
    if (isEnd) return spans;
    first = i + 1;
  }
  return spans;
}

/** What stands for several columns, which have names of their own. */
function hasStar(node: TreeNode): boolean {
  if (node.class === "STAR" || node.class === "SUBQUERY") return node.class === "STAR";
  return Object.values(node)
    .flat()
    .some((part) => isNode(part) && hasStar(part));
}

/**
 * A column without a name of its own is called as its expression was written. DuckDB would call it by the expression as
 * it has understood it, with functions and tables that the statement does not name.
 */
export function writtenNames(query: string, tokens: readonly Token[], statement: TreeNode): Edit[] {
  const list = selectList(statement);
  const spans = itemSpans(query, tokens);
  if (spans.length !== list.length) return [];
  return spans.flatMap(({ start, end }, i) => {
    const { alias, class: kind } = list[i]!;
    if ((typeof alias === "string" && alias !== "") || kind === "COLUMN_REF" || hasStar(list[i]!)) return [];
    const name = query.slice(start, end).replaceAll(/\s+/g, " ").slice(0, nameLengthMax).toWellFormed();
    return [{ start: end, end, text: ` AS "${name.replaceAll('"', '""')}"` }];
  });
}
