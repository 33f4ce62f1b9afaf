import type { Dialect } from "./dialect.ts";

/** What MySQL's clients expect. */
export const mysql: Dialect = {
  name: "mysql",
  setUp: () => [],
  rewrite: (query) => query,
  schemas: [],
};
