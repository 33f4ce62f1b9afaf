import type { Dialect } from "../../../engine/sql/dialect.ts";
import { catalogRelation, catalogSchema, catalogSetUp, tableFunctionNames } from "./catalog.ts";
import { catalogMacros, functionNames, functionSetUp } from "./functions.ts";

/**
 * What PostgreSQL's clients expect. Their words become DuckDB's at the edge, which knows the session that they speak of
 * and can tell the places of errors in their own text.
 */
export const postgres: Dialect = {
  name: "postgres",
  // One text, so that the many of them are one step.
  setUp: ({ namespace }) => [[...catalogSetUp(namespace), ...functionSetUp()].join(";\n")],
  schemas: [catalogSchema],
  nullOrder: "nulls_last_on_asc_first_on_desc",
  macros: functionNames,
  catalogMacros,
  relation(schema, name) {
    const view = catalogRelation(schema, name);
    return view === undefined ? undefined : { schema: catalogSchema, name: view };
  },
  tableFunctions: tableFunctionNames,
};
