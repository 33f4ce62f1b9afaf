import { type FieldSpec, isNumeric, type Schema } from "../schema/schema.ts";
import type { Comparison, Condition, Constant } from "./retrieval.ts";
import type { SqlParameter } from "./sql.ts";
import { dateOf } from "./stream-bounds.ts";

/** A filter in the form of REST. */
type FilterJson = Readonly<Record<string, unknown>>;

export interface ConditionFilters {
  /** All of them restrict the retrievers before their top k. */
  readonly filters: readonly FilterJson[];
  /** The terms, by their number, that only SQL can check. */
  readonly rest: readonly number[];
}

/**
 * The conditions that the index can check, as filters, which hold of a field's first value, as SQL shows it. SQL checks
 * all of them again: a filter may let more through, never less. A comparison with a missing value is not true, and neither is its opposite.
 */
export function conditionFilters(
  schema: Schema,
  terms: readonly (Condition | undefined)[],
  params: readonly SqlParameter[],
): ConditionFilters {
  const maker = new FilterMaker(schema, params);
  const filters: FilterJson[] = [];
  const rest: number[] = [];
  for (const [i, condition] of terms.entries()) {
    const filter = condition && maker.of(condition);
    if (condition === undefined || filter === undefined) rest.push(i);
    else filters.push(filter);
  }
  return { filters, rest };
}

type Scalar = string | number | boolean | null;

const ranges: Readonly<Record<string, "gt" | "gte" | "lt" | "lte">> = {
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
};

class FilterMaker {
  readonly #schema: Schema;
  readonly #params: readonly SqlParameter[];

  constructor(schema: Schema, params: readonly SqlParameter[]) {
    this.#schema = schema;
    this.#params = params;
  }

  of(condition: Condition): FilterJson | undefined {
    switch (condition.op) {
      case "and":
      case "or": {
        const items = condition.items.map((item) => this.of(item));
        return items.some((item) => item === undefined) ? undefined : { [condition.op]: items };
      }
      case "not":
        return this.#not(condition.item);
      case "null": {
        const field = this.#field(condition.column);
        return field && { not: { exists: { field: field.name } } };
      }
      case "true": {
        const field = this.#field(condition.column);
        return field?.kind.kind === "bool" ? { term: { [field.name]: true } } : undefined;
      }
      case "compare":
        return this.#compare(condition.column, condition.by, condition.value);
      case "in":
        return this.#in(condition.column, condition.values);
      case "like":
        return this.#like(condition.column, condition.pattern);
    }
  }

  /** The opposite of a comparison holds only where there is something to compare. */
  #not(item: Condition): FilterJson | undefined {
    if (item.op === "null") {
      const field = this.#field(item.column);
      return field && { exists: { field: field.name } };
    }
    if (!("column" in item)) return undefined;
    const filter = this.of(item);
    if (filter === undefined) return undefined;
    if (item.column.toLowerCase() === "_id") return { not: filter };
    const field = this.#field(item.column)!;
    return { and: [{ exists: { field: field.name } }, { not: filter }] };
  }

  #compare(column: string, by: Comparison, constant: Constant): FilterJson | undefined {
    if (column.toLowerCase() === "_id") return by === "=" ? this.#ids([constant]) : undefined;
    const field = this.#field(column);
    if (field === undefined || field.kind.kind === "text") return undefined;
    const value = this.#value(field, constant);
    if (value === undefined) return undefined;
    if (by === "=") return { term: { [field.name]: value } };
    if (by === "<>") return { and: [{ exists: { field: field.name } }, { not: { term: { [field.name]: value } } }] };
    // The order of text is the index's own beyond ASCII.
    const sorts = isNumeric(field.kind) ? field.kind.kind !== "bool" : isAscii(value);
    return sorts ? { range: { [field.name]: { [ranges[by]!]: value } } } : undefined;
  }

  #in(column: string, constants: readonly Constant[]): FilterJson | undefined {
    if (column.toLowerCase() === "_id") return this.#ids(constants);
    const field = this.#field(column);
    if (field === undefined || field.kind.kind === "text") return undefined;
    const values = constants.map((constant) => this.#value(field, constant));
    return values.some((value) => value === undefined) ? undefined : { terms: { [field.name]: values } };
  }

  #like(column: string, constant: Constant): FilterJson | undefined {
    const field = this.#field(column);
    const pattern = this.#scalar(constant);
    if (field?.kind.kind !== "keyword" || typeof pattern !== "string") return undefined;
    // What the two languages mark otherwise is left to SQL.
    if (/[*?\\]/.test(pattern) || pattern.length > 200) return undefined;
    const prefix = /^([^%_]*)%$/.exec(pattern)?.[1];
    if (prefix !== undefined && prefix !== "") return { prefix: { [field.name]: prefix } };
    return { wildcard: { [field.name]: pattern.replaceAll("%", "*").replaceAll("_", "?") } };
  }

  #ids(constants: readonly Constant[]): FilterJson | undefined {
    const values = constants.map((constant) => this.#scalar(constant));
    const isId = (value: unknown) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
    return values.every(isId) ? { ids: { values } } : undefined;
  }

  /** A field that the index can look at. */
  #field(column: string): FieldSpec | undefined {
    const lower = column.toLowerCase();
    const same = this.#schema.fields.filter(({ name }) => name.toLowerCase() === lower);
    const [field] = same;
    if (same.length !== 1 || field === undefined) return undefined;
    const { kind, indexed, fast, multi } = field;
    if (multi || kind.kind === "json" || (!indexed && !fast) || (kind.kind === "text" && !indexed)) return undefined;
    return field;
  }

  #scalar(constant: Constant): Scalar | undefined {
    if (constant.kind === "value") return constant.value;
    const value = this.#params[constant.index]?.value;
    if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
    const plain = value === null || ["string", "number", "boolean"].includes(typeof value);
    return plain ? (value as Scalar) : undefined;
  }

  /** A constant as the field holds its values; undefined where SQL would have to convert it. */
  #value(field: FieldSpec, constant: Constant): string | number | boolean | undefined {
    const value = this.#scalar(constant);
    switch (field.kind.kind) {
      case "keyword":
        return typeof value === "string" ? value : undefined;
      case "i64":
        return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
      case "f64":
        return typeof value === "number" && Number.isFinite(value) ? value : undefined;
      case "bool":
        return typeof value === "boolean" ? value : undefined;
      case "date":
        // Finer than the index keeps it, a bound would be another one.
        return typeof value === "string" && !/\.\d{4}/.test(value) ? dateOf(value) : undefined;
      default:
        return undefined;
    }
  }
}

function isAscii(value: unknown): boolean {
  return typeof value === "string" && /^[\x20-\x7e]*$/.test(value);
}
