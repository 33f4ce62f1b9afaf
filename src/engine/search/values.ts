import { invalid } from "../errors.ts";
import { type FieldSpec, findField, type Schema } from "../schema/schema.ts";
import type { IndexReader } from "./index/reader.ts";

/** A field's value as a client sees it: a bool is true or false, a date an RFC 3339 string. */
export type ClientValue = string | number | boolean;

/** A field that sort, facets and groups can use; anything else is an error that names `path`. */
export function fastField(schema: Schema, name: string, path: string): FieldSpec {
  const field = findField(schema, name);
  if (field === undefined) throw invalid(path, `the schema has no field "${name.slice(0, 255)}"`);
  if (!field.fast) throw invalid(path, `"${name}" is not fast, which sort, group_by and facets need`);
  return field;
}

export function clientValue(field: FieldSpec, value: string | number): ClientValue {
  if (typeof value === "string") return value;
  if (field.kind.kind === "bool") return value !== 0;
  return field.kind.kind === "date" ? new Date(value).toISOString() : value;
}

/** The distinct values of a document in a fast field, in stored order. */
export function valuesOf(reader: IndexReader, field: string, doc: number): (string | number)[] {
  const strings = reader.strings(field);
  if (strings !== undefined) {
    const { starts, values } = strings.column;
    const found: string[] = [];
    for (let i = starts[doc]!; i < starts[doc + 1]!; i++) found.push(strings.term(values[i]!));
    return found;
  }
  const numbers = reader.numbers(field);
  if (numbers === undefined) return [];
  const { starts, values } = numbers.column;
  return [...new Set(values.subarray(starts[doc]!, starts[doc + 1]!))];
}
