import type { Dialect } from "./dialect.ts";

/** What PostgreSQL's clients expect. */
export const postgres: Dialect = {
  name: "postgres",
  setUp: () => [],
  rewrite: (query) => query,
  schemas: [],
};
