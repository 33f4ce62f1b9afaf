import type { SqlType } from "../../engine/sql/type.ts";
import { nameOf, type StatementText } from "./dialect/lexer.ts";
import { postgresTypes } from "./dialect/types.ts";

export const vectorType: SqlType = { kind: "list", item: { kind: "float32" } };

/** Parameters that are the vector of a `vector_search`: what they are is known, and a retriever takes no casts. */
export function vectorParameters({ tokens }: StatementText): ReadonlySet<number> {
  const found = new Set<number>();
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== "word" || token.text !== "vector_search" || tokens[i + 1]?.text !== "(") continue;
    // The collection may have its schema before it.
    for (const comma of [i + 3, i + 5]) {
      if (tokens[comma]?.text !== ",") continue;
      const vector = tokens[comma + 1];
      if (vector?.kind === "parameter") found.add(Number(vector.text.slice(1)) - 1);
      break;
    }
  }
  return found;
}

/** Parameters that are alone in the brackets of `ANY ($1)`. */
export function listParameters({ tokens }: StatementText): ReadonlySet<number> {
  const found = new Set<number>();
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== "parameter" || tokens[i - 1]?.text !== "(" || tokens[i + 1]?.text !== ")") continue;
    if (/^(?:any|all|some)$/.test(tokens[i - 2]?.text ?? "")) found.add(Number(text.slice(1)) - 1);
  }
  return found;
}

const numbers = new Map<string, { readonly oid: number; readonly array: number }>();
for (const [oid, name, , array, , , label] of postgresTypes) {
  for (const each of [name, label]) numbers.set(each, { oid, array });
  if (array !== 0) numbers.set(`_${name}`, { oid: array, array: 0 });
}
for (const [alias, name] of [
  ["int", "int4"],
  ["decimal", "numeric"],
  ["double", "float8"],
  ["float", "float8"],
] as const) {
  numbers.set(alias, numbers.get(name)!);
}

/** The number of a type by its name, with `[]` after it for an array. */
export function typeNumber(name: string): number | undefined {
  const [, base = "", suffix] =
    /^(?:pg_catalog\.)?"?([^"([]+?)"?\s*(?:\([\d, ]*\))?\s*(\[\d*\])?$/.exec(name.toLowerCase()) ?? [];
  const known = numbers.get(base);
  return suffix === undefined ? known?.oid : known?.array;
}

/** What people call the type of a number. */
export function typeLabel(oid: number): string | undefined {
  const found = postgresTypes.find((type) => type[0] === oid || (oid !== 0 && type[3] === oid));
  return found === undefined ? undefined : found[0] === oid ? found[6] : `${found[6]}[]`;
}

const distances = new Set(["<->", "<=>", "<#>"]);

/** Whether a parameter stands beside an operator of two vectors. */
function isVector(tokens: StatementText["tokens"], i: number): boolean {
  const signs = (from: number) =>
    tokens
      .slice(Math.max(from, 0), from + 3)
      .map(({ text }) => text)
      .join("");
  return distances.has(signs(i - 3)) || distances.has(signs(i + 1));
}

/** Types that statements give to parameters: by a cast that follows at once (`$1::int8[]`), or what they stand beside. */
export function castParameters({ tokens }: StatementText): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== "parameter") continue;
    if (isVector(tokens, i)) found.set(Number(token.text.slice(1)) - 1, numbers.get("_float4")!.oid);
    if (tokens[i + 1]?.text !== "::") continue;
    let at = i + 2;
    if (tokens[at + 1]?.text === "." && tokens[at]?.text.replaceAll('"', "") === "pg_catalog") at += 2;
    const type = tokens[at];
    const known = type?.kind === "word" || type?.kind === "quoted" ? numbers.get(nameOf(type)) : undefined;
    if (known === undefined) continue;
    const isArray = tokens[at + 1]?.text === "[" && tokens[at + 2]?.text === "]";
    // The words of a longer name would say another type.
    if (tokens[at + 1]?.kind === "word" && /^(?:with|without|varying|precision)$/.test(tokens[at + 1]!.text)) continue;
    found.set(Number(token.text.slice(1)) - 1, isArray ? known.array : known.oid);
  }
  return found;
}
