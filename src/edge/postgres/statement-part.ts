import { type StatementText, splitStatements } from "./dialect/lexer.ts";

/** A statement that stands within another one, from a place in its text up to another. */
export function statementPart({ text, start, tokens }: StatementText, from: number, to = text.length): StatementText {
  const inside = tokens.filter((token) => token.start >= from && token.end <= to);
  return {
    text: text.slice(from, to),
    start: start + from,
    tokens: inside.map((token) => ({ ...token, start: token.start - from, end: token.end - from })),
  };
}

/** A statement of our own that begins where a part of the client's does, so that places of errors are near it. */
export function madeStatement(text: string, start: number): StatementText | undefined {
  const [made] = splitStatements(text);
  return made === undefined ? undefined : { ...made, start };
}
