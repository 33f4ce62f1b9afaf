import { invalid } from "../../errors.ts";
import { type FieldSpec, findField, type Schema } from "../../schema/schema.ts";
import { refuseUnknown, unknownFields } from "../../unknown-fields.ts";
import { fieldValue } from "../document.ts";
import { searchLimits } from "../limits.ts";
import { type Filter, type FilterRange, type FilterValue, matchAll } from "./filter.ts";

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function onlyEntry(path: string, value: unknown, what: string): readonly [string, unknown] {
  if (!isObject(value)) throw invalid(path, `must be an object with one key, ${what}`);
  const keys = Object.keys(value);
  const key = keys[0];
  if (key === undefined || keys.length > 1) throw invalid(path, `must have exactly one key, ${what}`);
  return [key, value[key]];
}

/** The field of a leaf; one that is neither indexed nor fast cannot be filtered. */
function filterField(schema: Schema, name: string, path: string): FieldSpec {
  const field = findField(schema, name);
  if (field === undefined) {
    throw invalid(path, `the schema has no field "${name.slice(0, searchLimits.fieldNameLengthMax)}"`);
  }
  if (!field.indexed && !field.fast) throw invalid(path, `"${name}" is neither indexed nor fast`);
  return field;
}

function needIndexedText(field: FieldSpec, path: string): void {
  if (field.kind.kind === "text" && !field.indexed) throw invalid(path, `"${field.name}" is not indexed`);
}

function needStrings(field: FieldSpec, path: string, what: string): void {
  const { kind } = field.kind;
  if (kind !== "keyword" && kind !== "text") throw invalid(path, `${what} needs a keyword or text field`);
  needIndexedText(field, path);
}

function string(path: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(path, "must be a string");
  return value.toWellFormed();
}

/** Words to look for; of a text field's, as much as is analysed. */
function words(field: FieldSpec, path: string, value: unknown): string {
  const text = string(path, value);
  return field.kind.kind === "text" ? text.slice(0, searchLimits.queryTextLengthMax) : text;
}

/** Reads the filter language of REST, checking each leaf against the schema. */
class FilterParser {
  readonly #schema: Schema;
  readonly #root: string;
  #nodes = 0;

  constructor(schema: Schema, root: string) {
    this.#schema = schema;
    this.#root = root;
  }

  parse(value: unknown, path: string, depth: number): Filter {
    if (depth > searchLimits.filterDepthMax) {
      throw invalid(path.slice(0, 200), `is nested more than ${searchLimits.filterDepthMax} levels deep`);
    }
    if (++this.#nodes > searchLimits.filterNodesMax) {
      throw invalid(this.#root, `has more than ${searchLimits.filterNodesMax} clauses`);
    }
    const [kind, body] = onlyEntry(path, value, "the kind of filter");
    const at = `${path}.${kind.slice(0, 64)}`;
    switch (kind) {
      case "match_all":
        if (!isObject(body) || Object.keys(body).length > 0) throw invalid(at, "must be {}");
        return matchAll;
      case "and":
      case "or":
        return { kind, filters: this.#list(body, at, depth) };
      case "not":
        return { kind, filter: this.parse(body, at, depth + 1) };
      case "bool":
        return this.#bool(body, at, depth);
      case "ids":
        return { kind, ids: parseIds(body, at) };
      case "exists":
        return { kind, field: this.#existsField(body, at) };
      case "term":
      case "terms":
      case "range":
      case "prefix":
      case "wildcard":
      case "match":
      case "phrase":
        return this.#leaf(kind, body, at);
      default:
        throw invalid(at, "unknown kind of filter");
    }
  }

  #list(value: unknown, path: string, depth: number): Filter[] {
    if (!Array.isArray(value)) throw invalid(path, "must be an array of filters");
    return value.map((entry, i) => this.parse(entry, `${path}[${i}]`, depth + 1));
  }

  #bool(value: unknown, path: string, depth: number): Filter {
    if (!isObject(value)) throw invalid(path, "must be an object");
    const part = (name: string): Filter[] => {
      const operand = value[name];
      if (operand === undefined || operand === null) return [];
      if (isObject(operand)) return [this.parse(operand, `${path}.${name}`, depth + 1)];
      return this.#list(operand, `${path}.${name}`, depth);
    };
    refuseUnknown(path, value, ["must", "should", "must_not", "filter"]);
    const all = [...part("must"), ...part("filter")];
    const any = part("should");
    // A filter gives no scores, so that an optional clause would mean nothing: at least one of `should` has to hold.
    if (any.length > 0) all.push({ kind: "or", filters: any });
    for (const filter of part("must_not")) all.push({ kind: "not", filter });
    return { kind: "and", filters: all };
  }

  #existsField(value: unknown, path: string): string {
    const [key, name] = onlyEntry(path, value, "field");
    if (key !== "field") throw unknownFields(path, [key]);
    if (typeof name !== "string") throw invalid(`${path}.field`, "must be a string");
    return filterField(this.#schema, name, `${path}.field`).name;
  }

  #leaf(
    kind: "term" | "terms" | "range" | "prefix" | "wildcard" | "match" | "phrase",
    body: unknown,
    path: string,
  ): Filter {
    const [name, value] = onlyEntry(path, body, "the field");
    const at = `${path}.${name.slice(0, searchLimits.fieldNameLengthMax)}`;
    const field = filterField(this.#schema, name, at);
    switch (kind) {
      case "term":
        needIndexedText(field, at);
        return { kind: "terms", field: name, values: [fieldValue(field, at, value)] };
      case "terms":
        needIndexedText(field, at);
        return { kind: "terms", field: name, values: parseValues(field, value, at) };
      case "range":
        return { kind, field: name, range: parseRange(field, value, at) };
      case "prefix":
        needStrings(field, at, "prefix");
        return { kind, field: name, prefix: string(at, value) };
      case "wildcard": {
        needStrings(field, at, "wildcard");
        const pattern = string(at, value);
        if (pattern.length > searchLimits.wildcardLengthMax) {
          throw invalid(at, `must have at most ${searchLimits.wildcardLengthMax} characters`);
        }
        return { kind, field: name, pattern };
      }
      case "match":
        needStrings(field, at, "match");
        return { kind, field: name, text: words(field, at, value) };
      case "phrase":
        needStrings(field, at, "phrase");
        if (field.kind.kind === "text" && !field.kind.positions) throw invalid(at, `"${name}" keeps no positions`);
        return { kind, field: name, text: words(field, at, value) };
    }
  }
}

function parseIds(value: unknown, path: string): number[] {
  const [key, ids] = onlyEntry(path, value, "values");
  if (key !== "values") throw unknownFields(path, [key]);
  if (!Array.isArray(ids)) throw invalid(`${path}.values`, "must be an array of document ids");
  if (ids.length > searchLimits.filterValuesMax) {
    throw invalid(`${path}.values`, `has more than ${searchLimits.filterValuesMax} entries`);
  }
  return ids.map((id: unknown, i) => {
    if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 0) {
      throw invalid(`${path}.values[${i}]`, `must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}`);
    }
    return id;
  });
}

function parseValues(field: FieldSpec, value: unknown, path: string): FilterValue[] {
  if (!Array.isArray(value)) throw invalid(path, "must be an array of values");
  if (value.length > searchLimits.filterValuesMax) {
    throw invalid(path, `has more than ${searchLimits.filterValuesMax} values`);
  }
  return value.map((entry, i) => fieldValue(field, `${path}[${i}]`, entry));
}

const bounds = ["gt", "gte", "lt", "lte"] as const;

function parseRange(field: FieldSpec, value: unknown, path: string): FilterRange {
  const { kind } = field.kind;
  if (kind === "text" || kind === "bool") throw invalid(path, `range needs a number, date or keyword field`);
  if (!isObject(value)) throw invalid(path, "must be an object with gt, gte, lt or lte");
  refuseUnknown(path, value, bounds);
  const range: { -readonly [key in keyof FilterRange]: FilterRange[key] } = {};
  for (const key of bounds) {
    const bound = value[key];
    if (bound !== undefined && bound !== null) range[key] = rangeBound(field, bound, `${path}.${key}`);
  }
  if (Object.keys(range).length === 0) throw invalid(path, "must have at least one of gt, gte, lt, lte");
  return range;
}

/** A whole-number field may be compared with any finite number. */
function rangeBound(field: FieldSpec, bound: unknown, path: string): FilterValue {
  if (field.kind.kind === "i64" && typeof bound === "number" && Number.isFinite(bound)) return bound + 0;
  return fieldValue(field, path, bound);
}

/** Parses and validates a filter; every error names the place in it. */
export function parseFilter(value: unknown, schema: Schema, path = "filter"): Filter {
  return new FilterParser(schema, path).parse(value, path, 0);
}
