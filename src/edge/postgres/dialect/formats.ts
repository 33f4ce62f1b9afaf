import { catalogSchema } from "./catalog.ts";
import { type Call, type PostgresDraft, quotedText } from "./draft.ts";
import { isItem } from "./items.ts";
import { stringOf } from "./lexer.ts";
import { isNumberTemplate, numberExpression, readingFormat, timeExpression } from "./template.ts";

/** `format('%s and %I', a, b)`: the texts between what is filled in, joined with that. */
export function rewriteFormat(draft: PostgresDraft, { first, last, end }: Call): boolean {
  const template = draft.tokens[last + 2];
  const commas = draft.commas(last + 1);
  const isLone = (commas[0] ?? end) === last + 3;
  if (end === -1 || template?.kind !== "string" || !isLone) {
    throw draft.unsupported(first, "format takes a text that is written out");
  }
  const pieces = stringOf(template).split(/%([sIL%])/);
  const texts: string[] = [""];
  const kinds: string[] = [];
  for (const [i, piece] of pieces.entries()) {
    if (i % 2 === 0 && piece.includes("%")) throw draft.unsupported(last + 2, "format takes %s, %I, %L and %% alone");
    if (i % 2 === 0 || piece === "%") texts[texts.length - 1] += piece;
    else {
      kinds.push(piece);
      texts.push("");
    }
  }
  if (kinds.length > commas.length) throw draft.unsupported(first, "too few arguments for format()");
  if (kinds.length < commas.length) throw draft.unsupported(first, "format has more arguments than places for them");
  const wrap = (kind: string | undefined) =>
    `${catalogSchema}.${kind === "I" ? "identifier_of" : kind === "L" ? "quote_nullable" : "text_of"}(`;
  draft.replace(first, last, "concat");
  draft.replace(last + 2, last + 2, quotedText(texts[0]!));
  for (const [i, comma] of commas.entries()) {
    draft.replace(comma, comma, `${i === 0 ? "" : `), ${quotedText(texts[i]!)}`}, ${wrap(kinds[i])}`);
  }
  draft.replace(end, end, commas.length === 0 ? ")" : `), ${quotedText(texts[commas.length]!)})`);
  return true;
}

/** The template of a call with two arguments, which must be written out. */
function templateOf(
  draft: PostgresDraft,
  { last, end, name }: Call,
): { readonly comma: number; readonly text: string } {
  const [comma, more] = draft.commas(last + 1);
  const template = comma === undefined ? undefined : draft.tokens[comma + 1];
  if (comma === undefined || more !== undefined || comma + 2 !== end || template?.kind !== "string") {
    throw draft.unsupported(last, `${name} takes a value and a template that is written out`);
  }
  return { comma, text: stringOf(template) };
}

export function rewriteToChar(draft: PostgresDraft, call: Call): boolean {
  const { comma, text } = templateOf(draft, call);
  const expression = isNumberTemplate(text) ? numberExpression(text) : timeExpression(text);
  if (expression === undefined) throw draft.unsupported(comma + 1, `the template ${quotedText(text)} is not supported`);
  const name = isItem(draft, call.first, call.end) ? " AS to_char" : "";
  draft.replace(call.first, call.last + 1, "list_transform([");
  draft.replace(comma, call.end, `], lambda t: ${expression})[1]${name}`);
  return true;
}

export function rewriteToDate(draft: PostgresDraft, call: Call): boolean {
  const { first, last, end, name } = call;
  // Of one number it is DuckDB's own.
  if (name === "to_timestamp" && draft.commas(last + 1).length === 0) return false;
  const { comma, text } = templateOf(draft, call);
  const format = readingFormat(text);
  if (format === undefined) throw draft.unsupported(comma + 1, `the template ${quotedText(text)} is not supported`);
  const column = isItem(draft, first, end) ? ` AS ${name}` : "";
  draft.replace(first, last + 1, "CAST(strptime(");
  draft.replace(comma, end, `, ${quotedText(format)}) AS ${name === "to_date" ? "DATE" : "TIMESTAMPTZ"})${column}`);
  return true;
}
