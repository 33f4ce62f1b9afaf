import type { MysqlToken } from "../../engine/sql/dialect/mysql-lexer.ts";

/** One statement's words, and the text they are of. */
export interface Statement {
  readonly source: string;
  readonly tokens: readonly MysqlToken[];
}
