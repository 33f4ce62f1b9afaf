import type { MysqlToken } from "./dialect/lexer.ts";

/** One statement's words, and the text they are of. */
export interface Statement {
  readonly source: string;
  readonly tokens: readonly MysqlToken[];
}
