import { mysql } from "../edge/mysql/dialect/dialect.ts";
import { postgres } from "../edge/postgres/dialect/dialect.ts";
import type { Dialects } from "../engine/sql/dialect.ts";

/** What the wires add to SQL. */
export const sqlDialects: Dialects = { postgres, mysql };
