import { catalogSchema } from "./catalog.ts";
import { type PostgresDraft, quotedText } from "./draft.ts";
import { stringOf } from "./lexer.ts";
import { itemsOf } from "./literals.ts";

/** What a symbol that begins an operator becomes; gives how many tokens were dealt with. */
export function rewriteOperator(draft: PostgresDraft, i: number): number {
  const { text } = draft.tokens[i]!;
  if (text === "~" || text === "!") return rewriteMatch(draft, i);
  if (text === "#") return rewritePath(draft, i);
  if (text === "<" && draft.isOperator(i, "<#>")) return rewriteInnerProduct(draft, i);
  return 0;
}

/** `~`, `!~`, `~*` and `!~*` find a part of the text, where DuckDB's `~` takes the whole. */
function rewriteMatch(draft: PostgresDraft, i: number): number {
  const sign = ["!~*", "!~", "~*", "~"].find((each) => draft.isOperator(i, each));
  const before = draft.tokens[i - 1];
  const isPrefix = before === undefined || (before.kind === "symbol" && before.text !== ")" && before.text !== "]");
  if (sign === undefined || isPrefix) return 0;
  return foundPart(draft, i, i + sign.length - 1, sign);
}

/** `OPERATOR(pg_catalog.~)` is `~`; `i` is the word. */
export function rewriteNamedOperator(draft: PostgresDraft, i: number): number {
  const end = draft.closing(i + 1);
  if (end === -1) return 0;
  const isQualified = draft.isName(i + 2) && draft.isSymbol(i + 3, ".");
  const from = draft.tokens[isQualified ? i + 4 : i + 2];
  if (from === undefined || from.start >= draft.tokens[end]!.start) return 0;
  const sign = draft.text.slice(from.start, draft.tokens[end]!.start).trim();
  if (/^!?~\*?$/.test(sign)) return foundPart(draft, i, end, sign);
  draft.replace(i, end, sign);
  return end - i + 1;
}

function foundPart(draft: PostgresDraft, first: number, last: number, sign: string): number {
  const plain = sign.replace("*", "");
  const flags = sign.includes("*") ? "(?si)" : "(?s)";
  const operand = draft.tokens[last + 1];
  if (operand?.kind === "string") {
    draft.replace(first, last, plain);
    draft.replace(last + 1, last + 1, quotedText(`${flags}.*(?:${stringOf(operand)}).*`));
    return last - first + 2;
  }
  if (operand === undefined) return last - first + 1;
  draft.replace(first, last, plain);
  const end = draft.operandEnd(last + 1);
  draft.insertBefore(last + 1, `('${flags}.*(?:' || `);
  draft.insertAfter(end, ` || ').*')`);
  return last - first + 1;
}

/** `#>` and `#>>` follow a path of keys and indexes, as a JSON pointer does. */
function rewritePath(draft: PostgresDraft, i: number): number {
  const sign = ["#>>", "#>"].find((each) => draft.isOperator(i, each));
  const operand = draft.tokens[i + (sign?.length ?? 0)];
  if (sign === undefined || operand === undefined) return 0;
  draft.replace(i, i + sign.length - 1, sign === "#>>" ? "->>" : "->");
  const at = i + sign.length;
  const hasCast = draft.isSymbol(at + 1, "::");
  if (operand.kind === "string" && !hasCast) {
    const keys = itemsOf(stringOf(operand)).map((key) => (key ?? "").replaceAll("~", "~0").replaceAll("/", "~1"));
    draft.replace(at, at, quotedText(keys.map((key) => `/${key}`).join("")));
    return sign.length + 1;
  }
  draft.insertBefore(at, `${catalogSchema}.json_pointer(`);
  draft.insertAfter(draft.operandEnd(at), ")");
  return sign.length;
}

/** `a <#> b`, the negative inner product. */
function rewriteInnerProduct(draft: PostgresDraft, i: number): number {
  if (draft.tokens[i + 3] === undefined || i === 0) return 0;
  draft.insertBefore(draft.operandStart(i - 1), `${catalogSchema}.negative_inner_product(`);
  draft.replace(i, i + 2, ",");
  draft.insertAfter(draft.operandEnd(i + 3), ")");
  return 3;
}

/** A regular expression for a pattern of `SIMILAR TO`. */
function similarPattern(pattern: string, escaping: string): string {
  const parts: string[] = [];
  let isInClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === escaping && escaping !== "") {
      parts.push((pattern[++at] ?? "").replace(/[^A-Za-z0-9]/, "\\$&"));
    } else if (isInClass) {
      if (character === "]") isInClass = false;
      parts.push(character === "\\" ? "\\\\" : character);
    } else if (character === "[") {
      isInClass = true;
      parts.push(character);
    } else if (character === "%") parts.push("(?s:.*)");
    else if (character === "_") parts.push("(?s:.)");
    else parts.push(/[.^$\\]/.test(character) ? `\\${character}` : character);
  }
  return parts.join("");
}

/** `SIMILAR TO 'pattern' [ESCAPE 'x']`; `i` is SIMILAR. DuckDB takes the pattern for a regular expression. */
export function rewriteSimilar(draft: PostgresDraft, i: number): number {
  if (!draft.isWord(i + 1, "to")) return 0;
  const pattern = draft.tokens[i + 2];
  if (pattern?.kind !== "string") throw draft.unsupported(i + 2, "SIMILAR TO takes a pattern that is written out");
  const escaping = draft.isWord(i + 3, "escape") ? draft.tokens[i + 4] : undefined;
  const hasEscape = escaping?.kind === "string";
  const regex = similarPattern(stringOf(pattern), hasEscape ? stringOf(escaping) : "\\");
  draft.replace(i + 2, hasEscape ? i + 4 : i + 2, quotedText(regex));
  return hasEscape ? 5 : 3;
}
