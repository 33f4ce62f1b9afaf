const escapes = new Map([
  ["~", "~0"],
  ["/", "~1"],
  ["`", "~3"],
  ['"', "~4"],
  [".", "/"],
]);

/**
 * Lance allows no dot in the name of a column, and its queries fail on quotes. A dotted name becomes a path with
 * slashes (`a.b` is column `a/b`), and what would be mistaken for one is escaped as in a JSON pointer, so that no two
 * fields share a column. So are, by their code, control characters and half surrogate pairs, which earlier builds let
 * into names: its files hold neither.
 */
export function columnName(field: string): string {
  const escaped = field
    .replace(/[~/`".]/g, (char) => escapes.get(char)!)
    .replace(/[\u0000-\u001f\u007f\p{Cs}]/gu, (char) => `~5${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return escaped.endsWith(listSuffix) ? `${escaped.slice(0, -listSuffix.length)}~2` : escaped;
}

const listSuffix = "[]";

/** Holds all values of a field that has had several in one document. */
export function listName(field: string): string {
  return `${columnName(field)}${listSuffix}`;
}
