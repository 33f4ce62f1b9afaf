/** LIKE and its kin by the names of their operators, and what DuckDB has for those with an escape. */
export const likes: Readonly<Record<string, readonly (readonly [parameters: string, result: string])[]>> =
  Object.fromEntries(
    [
      ["~~", "like_escape"],
      ["!~~", "not_like_escape"],
      ["~~*", "ilike_escape"],
      ["!~~*", "not_ilike_escape"],
    ].map(([operator, escaping]) => {
      const plain = `system.main."${operator}"(a, b)`;
      const result = `CASE WHEN contains(b, '\\') THEN ${escaping}(a, b, '\\') ELSE ${plain} END`;
      return [`"${operator}"`, [["a, b", result]]] as const;
    }),
  );
