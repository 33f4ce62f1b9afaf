import { likes } from "../../wire/like-macros.ts";
import { catalogSchema } from "./catalog.ts";
import { openNumeric } from "./numeric.ts";
import { functionOid } from "./procs.ts";

const s = catalogSchema;

/** Of two vectors, either of which may be missing: DuckDB refuses lists where one of any row is. */
function ofVectors(distance: string): string {
  const both = "coalesce(a::FLOAT[], b::FLOAT[]), coalesce(b::FLOAT[], a::FLOAT[])";
  return `CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN ${distance}(${both}) END`;
}

/** DuckDB tells numbers apart. */
const jsonType = `CASE json_type(x) WHEN 'VARCHAR' THEN 'string' WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array'
  WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE CASE WHEN json_type(x) IS NOT NULL THEN 'number' END END`;

const padded = (number: string, size: number) =>
  `lpad((${number})::VARCHAR, greatest(length((${number})::VARCHAR), ${size})::INTEGER, '0')`;

/** A part of an interval `t` by a format of an instant. */
const intervalPart = `CASE format
  WHEN '%H' THEN CASE WHEN date_part('hour', t) < 0 THEN '-' ELSE '' END || ${padded("abs(date_part('hour', t))", 2)}
  WHEN '%I' THEN ${padded("(date_part('hour', t) + 11) % 12 + 1", 2)} WHEN '%M' THEN ${padded("date_part('minute', t)", 2)}
  WHEN '%S' THEN ${padded("date_part('second', t)", 2)} WHEN '%g' THEN ${padded("date_part('millisecond', t) % 1000", 3)}
  WHEN '%f' THEN ${padded("date_part('microsecond', t) % 1000000", 6)} WHEN '%m' THEN ${padded("date_part('month', t)", 2)}
  WHEN '%d' THEN ${padded("date_part('day', t)", 2)} WHEN '%j' THEN ${padded("date_part('day', t)", 3)}
  WHEN '%p' THEN CASE WHEN date_part('hour', t) % 24 < 12 THEN 'AM' ELSE 'PM' END
  ELSE error('this template is not one of an interval') END`;

function yearOf(part: string): string {
  const year = `date_part('${part}', x)`;
  return `CASE WHEN ${year} > 0 OR typeof(x) = 'INTERVAL' THEN ${year} ELSE ${year} - 1 END`;
}

/**
 * Functions of Postgres's SQL that DuckDB has not, has under the same name for something else, or gives another answer
 * for; and those that statements are rewritten to. Each with its parameters and what it gives.
 */
export const sqlFunctions: Readonly<Record<string, readonly (readonly [parameters: string, result: string])[]>> = {
  // DuckDB gives NULL or infinity. Operators are looked up like functions, and ours are found first.
  '"/"': [["a, b", `CASE WHEN b = 0 THEN error('division by zero') ELSE system.main."/"(a, b) END`]],
  '"%"': [["a, b", `CASE WHEN b = 0 THEN error('division by zero') ELSE system.main."%"(a, b) END`]],
  mod: [["a, b", `CASE WHEN b = 0 THEN error('division by zero') ELSE system.main."%"(a, b) END`]],
  div: [["a, b", `CASE WHEN b = 0 THEN error('division by zero') ELSE trunc(system.main."/"(a, b)) END`]],
  // A backslash takes a wildcard's meaning away. Where the pattern is written out without one, DuckDB's own LIKE is left of this.
  ...likes,
  text_of: [["x", "x::VARCHAR"]],
  function_oid: [["name", functionOid]],
  identifier_of: [
    [
      "x",
      `CASE WHEN x IS NULL THEN error('null values cannot be formatted as an SQL identifier') ELSE ${s}.quote_ident(x) END`,
    ],
  ],
  vector_dims: [["v", "len(v::FLOAT[])::INTEGER"]],
  vector_norm: [["v", "sqrt(list_inner_product(v::FLOAT[], v::FLOAT[]))::DOUBLE"]],
  // By their texts, because a float that is multiplied to a decimal brings digits that it was never written with.
  numeric_of: [
    ["x BIGINT", "x::DECIMAL(38, 0)"],
    ["x", `x::VARCHAR::${openNumeric}`],
  ],
  numeric_text: [["x", "regexp_replace(x::VARCHAR, '(\\.[0-9]*[1-9])0+$|\\.0+$', '\\1')"]],
  time_text: [["x", "regexp_replace(x::VARCHAR, '^(.*) \\(BC\\)(.*)$', '\\1\\2 BC')"]],
  array_text: [
    [
      "a",
      `'{' || array_to_string(list_transform(a, lambda e: CASE WHEN e IS NULL THEN 'NULL'
         WHEN typeof(e) = 'BOOLEAN' THEN left(e::VARCHAR, 1) WHEN regexp_matches(e::VARCHAR, '^$|[{},"\\\\\\s]|^(?i:null)$')
         THEN '"' || regexp_replace(e::VARCHAR, '(["\\\\])', '\\\\\\1', 'g') || '"' ELSE e::VARCHAR END), ',') || '}'`,
    ],
  ],
  varchar_of: [["x, n", "left(x::VARCHAR, n)"]],
  char_of: [["x, n", "rpad(left(x::VARCHAR, n), n, ' ')"]],
  // There is no year 0 before the year 1.
  instant_part: [
    ["t INTERVAL, format", intervalPart],
    ["t, format", "strftime(t, format)"],
  ],
  ordinal_ending: [
    [
      "n",
      "CASE WHEN n[-2:] BETWEEN '11' AND '13' THEN 'th' ELSE CASE n[-1:] WHEN '1' THEN 'st' WHEN '2' THEN 'nd' WHEN '3' THEN 'rd' ELSE 'th' END END",
    ],
  ],
  part_year: [["x", yearOf("year")]],
  part_isoyear: [["x", yearOf("isoyear")]],
  part_decade: [
    [
      "x",
      "CASE WHEN typeof(x) = 'INTERVAL' THEN date_part('decade', x) ELSE floor(date_part('year', x) / 10)::BIGINT END",
    ],
  ],
  json_typeof: [["x", jsonType]],
  jsonb_typeof: [["x", jsonType]],
  json_pointer: [
    [
      "keys",
      `CASE WHEN len(keys) = 0 THEN '' ELSE '/' || array_to_string(list_transform(keys,
       lambda each: replace(replace(each::VARCHAR, '~', '~0'), '/', '~1')), '/') END`,
    ],
  ],
  '"<->"': [["a, b", ofVectors("list_distance")]],
  '"<=>"': [["a, b", ofVectors("list_cosine_distance")]],
  negative_inner_product: [["a, b", ofVectors("-list_inner_product")]],
  subscripts: [["a, dimension", "generate_series(1, CASE WHEN dimension = 1 THEN len(a) ELSE 0 END)"]],
  overlay: [
    ["a, b, start", "substr(a, 1, start - 1) || b || substr(a, start + length(b))"],
    ["a, b, start, size", "substr(a, 1, start - 1) || b || substr(a, start + size)"],
  ],
  substring_match: [
    ["t, pattern, part", "CASE WHEN regexp_matches(t, pattern) THEN regexp_extract(t, pattern, part) END"],
  ],
  width_bucket: [
    ["x, thresholds", "len(list_filter(thresholds, lambda each: each <= x))::INTEGER"],
    [
      "x, low, high, buckets",
      `CASE WHEN low <= high THEN CASE WHEN x < low THEN 0 WHEN x >= high THEN buckets + 1
         ELSE floor((x - low)::DOUBLE * buckets / (high - low))::INTEGER + 1 END
       ELSE CASE WHEN x > low THEN 0 WHEN x <= high THEN buckets + 1
         ELSE floor((low - x)::DOUBLE * buckets / (low - high))::INTEGER + 1 END END`,
    ],
  ],
  parse_ident: [
    [
      "t",
      `list_transform(regexp_extract_all(t, '"(?:[^"]|"")*"|[^."\\s]+'), lambda each: CASE WHEN starts_with(each, '"')
       THEN replace(each[2:-2], '""', '"') ELSE lower(each) END)`,
    ],
  ],
  encode: [
    [
      "b, format",
      "CASE lower(format) WHEN 'hex' THEN lower(hex(b::BLOB)) WHEN 'base64' THEN to_base64(b::BLOB) ELSE error('unrecognized encoding: \"' || format || '\"') END",
    ],
  ],
  decode: [
    [
      "t, format",
      "CASE lower(format) WHEN 'hex' THEN unhex(t) WHEN 'base64' THEN from_base64(t) ELSE error('unrecognized encoding: \"' || format || '\"')::BLOB END",
    ],
  ],
  regexp_match: [
    [
      "t, pattern",
      "CASE WHEN regexp_matches(t, pattern) THEN CASE WHEN pattern LIKE '%(%' THEN [regexp_extract(t, pattern, 1)] ELSE [regexp_extract(t, pattern)] END END",
    ],
  ],
  regexp_count: [["t, pattern", "len(regexp_extract_all(t, pattern))::INTEGER"]],
  regexp_substr: [["t, pattern", "CASE WHEN regexp_matches(t, pattern) THEN regexp_extract(t, pattern) END"]],
  row_to_json: [["r", "to_json(r)"]],
  array_fill: [["x, sizes", "list_transform(range(sizes[1]), lambda i: x)"]],
  array_replace: [["a, x, y", "list_transform(a, lambda e: CASE WHEN e IS NOT DISTINCT FROM x THEN y ELSE e END)"]],
  trim_array: [["a, n", "a[:len(a) - n]"]],
  array_positions: [
    [
      "a, x",
      "list_filter(list_transform(a, lambda e, i: CASE WHEN e IS NOT DISTINCT FROM x THEN i END), lambda i: i IS NOT NULL)",
    ],
  ],
  xid_age: [["x", "0"]],
  regclass_oids: [["path, names", `(SELECT list(${s}.regclass_oid(path, each)) FROM (SELECT unnest(names) AS each))`]],
  regclass_names: [["path, oids", `(SELECT list(${s}.regclass_name(path, each)) FROM (SELECT unnest(oids) AS each))`]],
  regtype_oids: [["names", `list_transform(names, lambda each: ${s}.regtype_oid(each))`]],
  regtype_names: [["oids", `list_transform(oids, lambda each: ${s}.regtype_name(each))`]],
  regproc_oids: [["names", "names"]],
  regproc_names: [["names", "list_transform(names, lambda each: each::VARCHAR)"]],
};
