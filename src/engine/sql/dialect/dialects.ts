import type { Dialect, DialectName } from "./dialect.ts";
import { mysql } from "./mysql.ts";
import { postgres } from "./postgres.ts";

const dialects: Readonly<Record<DialectName, Dialect>> = { postgres, mysql };

export function findDialect(name: DialectName | undefined): Dialect | undefined {
  return name === undefined ? undefined : dialects[name];
}
