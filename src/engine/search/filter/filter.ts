/**
 * The one typed form of a filter, for REST, RPC and SQL alike. Values are as the index holds them: strings for keyword
 * and text, numbers for i64, f64, date (epoch ms) and bool (0 or 1).
 */
export type FilterValue = string | number;

export interface FilterRange {
  readonly gt?: FilterValue;
  readonly gte?: FilterValue;
  readonly lt?: FilterValue;
  readonly lte?: FilterValue;
}

/** `first` holds a condition against the first of a field's values alone, as SQL does; else any of them may meet it. */
export type Filter =
  | { readonly kind: "all" }
  | {
      readonly kind: "terms";
      readonly field: string;
      readonly values: readonly FilterValue[];
      readonly first?: boolean;
    }
  | { readonly kind: "range"; readonly field: string; readonly range: FilterRange; readonly first?: boolean }
  | { readonly kind: "exists"; readonly field: string }
  | { readonly kind: "prefix"; readonly field: string; readonly prefix: string; readonly first?: boolean }
  | { readonly kind: "wildcard"; readonly field: string; readonly pattern: string; readonly first?: boolean }
  /** As an array they are in ascending order: there may be as many as there are documents. */
  | { readonly kind: "ids"; readonly ids: readonly number[] | Float64Array }
  /** Every word of the text. */
  | { readonly kind: "match"; readonly field: string; readonly text: string }
  | { readonly kind: "phrase"; readonly field: string; readonly text: string }
  | { readonly kind: "and"; readonly filters: readonly Filter[] }
  | { readonly kind: "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter };

export const matchAll: Filter = { kind: "all" };

/** The fields that a filter looks at. */
export function filterFields(filter: Filter, into = new Set<string>()): ReadonlySet<string> {
  switch (filter.kind) {
    case "and":
    case "or":
      for (const each of filter.filters) filterFields(each, into);
      return into;
    case "not":
      return filterFields(filter.filter, into);
    case "all":
    case "ids":
      return into;
    default:
      return into.add(filter.field);
  }
}

/** The same filter, of the first values alone. */
export function ofFirstValues(filter: Filter): Filter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { ...filter, filters: filter.filters.map(ofFirstValues) };
    case "not":
      return { ...filter, filter: ofFirstValues(filter.filter) };
    case "terms":
    case "range":
    case "prefix":
    case "wildcard":
      return { ...filter, first: true };
    default:
      return filter;
  }
}
