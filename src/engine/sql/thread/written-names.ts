import type { Edit } from "./edits.ts";
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

/** Where the items of that list stand; none where it can't be told. */
function itemSpans(query: string, tokens: readonly Token[]): Span[] {
  const textOf = (token: Token | undefined) =>
    token === undefined ? "" : query.slice(token.start, token.end).toLowerCase();
  const spans: Span[] = [];
  let depth = 0;
  let first: number | undefined;
  for (let i = 0; i <= tokens.length; i++) {
    const text = textOf(tokens[i]);
    if (tokens[i]?.kind === "sign") depth += "([{".includes(text) ? 1 : ")]}".includes(text) ? -1 : 0;
    if (depth > 0) continue;
    if (first === undefined) {
      if (text === "select") first = i + 1;
      continue;
    }
    if (i === first && text === "all") first = i + 1;
    if (i === first && text === "distinct") {
      if (textOf(tokens[i + 1]) === "on") return [];
      first = i + 1;
    }
    const isEnd = text === "" || text === ";" || (listEnds.has(text) && textOf(tokens[i - 1]) !== "distinct");
    if (!isEnd && text !== ",") continue;
    if (i > first) spans.push({ start: tokens[first]!.start, end: tokens[i - 1]!.end });
    if (isEnd) return spans;
    first = i + 1;
  }
  return spans;
}

/**
 * A column without a name of its own has that of its expression. Where the expression's text is changed, as with a retriever
 * inside, the name tells it as it was written.
 */
export function writtenNames(
  query: string,
  tokens: readonly Token[],
  statement: TreeNode,
  changed: readonly Span[],
): Edit[] {
  const list = selectList(statement);
  const spans = itemSpans(query, tokens);
  if (spans.length !== list.length) return [];
  return spans.flatMap(({ start, end }, i) => {
    const { alias, class: kind } = list[i]!;
    if ((typeof alias === "string" && alias !== "") || kind === "COLUMN_REF" || kind === "STAR") return [];
    if (!changed.some((span) => start <= span.start && span.end <= end)) return [];
    const name = query.slice(start, end).replaceAll(/\s+/g, " ").slice(0, nameLengthMax).toWellFormed();
    return [{ start: end, end, text: ` AS "${name.replaceAll('"', '""')}"` }];
  });
}
