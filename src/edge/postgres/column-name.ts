/**
 * A column's name as Postgres gives it to an expression without one: that of its function, or `?column?`. The engine
 * gives the expression's text, which clients that look for `count` would not find.
 */
export function columnName(name: string): string {
  if (name === "count_star()") return "count";
  const call = /^(?:"?[A-Za-z_]\w*"?\.)?"?([A-Za-z_]\w*)"?\(.*\)$/s.exec(name);
  if (call !== null) return call[1]!.toLowerCase();
  if (/^CAST\(/i.test(name) || /^[('\d[]/.test(name) || /^-\d/.test(name)) return "?column?";
  return name === "NULL" ? "?column?" : name;
}
