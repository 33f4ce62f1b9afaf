import type { Sql, SqlResult } from "../../engine/sql/sql.ts";
import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import type { FlightCall } from "./call.ts";

/**
 * SQL as a call wants it: with the header `timestamps: local`, instants are sent as timestamps without a zone, which are in
 * UTC. The JDBC driver's `getObject` can't read those with a zone.
 */
export function sqlFor(sql: Sql, { timestamps }: Pick<FlightCall, "timestamps">): Sql {
  if (timestamps === "utc") return sql;
  return {
    async describe(statement, signal) {
      const described = await sql.describe(statement, signal);
      return { ...described, columns: described.columns.map(withoutZone) };
    },
    async run(statement, signal) {
      return withoutZones(await sql.run(statement, signal));
    },
    tables: (namespace) => sql.tables(namespace),
    columnsOf: (namespace, schema, name) => sql.columnsOf(namespace, schema, name),
  };
}

function withoutZone(column: SqlColumnInfo): SqlColumnInfo {
  return column.type.kind === "timestamptz" ? { ...column, type: { kind: "timestamp" } } : column;
}

function withoutZones(result: SqlResult): SqlResult {
  return {
    kind: result.kind,
    columns: result.columns.map(withoutZone),
    token: result.token,
    next: () => result.next(),
    [Symbol.asyncDispose]: () => result[Symbol.asyncDispose](),
  };
}
