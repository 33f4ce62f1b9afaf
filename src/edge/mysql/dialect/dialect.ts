import type { Dialect } from "../../../engine/sql/dialect.ts";
import { likes } from "../../wire/like-macros.ts";

const schema = "mysql_functions";

/** A backslash takes a wildcard's meaning away, in a parameter too. */
const likeMacros = Object.entries(likes).map(([name, [form]]) => [name, `(${form![0]}) AS ${form![1]}`]);

/** Functions of MySQL that the engine has not, as macros over what it has. */
const macros: Readonly<Record<string, string>> = {
  days_between: "(a, b) AS date_diff('day', CAST(b AS DATE), CAST(a AS DATE))",
  find_in_set: "(a, list) AS coalesce(list_position(string_split(list, ','), a), 0)",
  json_arrayagg: "(a) AS to_json(list(a))",
  json_length: "(a) AS json_array_length(a)",
  json_unquote: "(a) AS json_extract_string(CAST(a AS JSON), '$')",
  locate:
    "(a, b) AS instr(b, a), (a, b, start) AS CASE WHEN instr(substring(b, start), a) = 0 THEN 0 ELSE instr(substring(b, start), a) + start - 1 END",
  mid: "(a, start, length) AS substring(a, start, length)",
  regexp_like: "(a, pattern) AS regexp_matches(a, pattern, 'i')",
  sha2: "(a, bits) AS CASE WHEN bits IN (0, 256) THEN sha256(a) END",
  space: "(count) AS repeat(' ', count)",
  std: "(a) AS stddev_pop(a)",
  strcmp: "(a, b) AS CASE WHEN a < b THEN -1 WHEN a > b THEN 1 ELSE 0 END",
  substring_index:
    "(a, delimiter, count) AS CASE WHEN count >= 0 THEN array_to_string(string_split(a, delimiter)[1:count], delimiter) ELSE array_to_string(string_split(a, delimiter)[count:], delimiter) END",
  ...Object.fromEntries(likeMacros),
  truncate: "(a, digits) AS trunc(a * power(10, digits)) / power(10, digits)",
};

/**
 * What MySQL's clients expect. Their statements come rewritten: that needs what only their session knows
 * (see `rewriteMysql`).
 */
export const mysql: Dialect = {
  name: "mysql",
  setUp: () => [
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    ...Object.entries(macros).map(([name, body]) => `CREATE OR REPLACE MACRO ${schema}.${name}${body}`),
  ],
  schemas: [schema],
  nullOrder: "nulls_first_on_asc_last_on_desc",
  macros: new Set(Object.keys(macros)),
};
