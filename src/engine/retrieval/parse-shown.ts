import { invalid } from "../errors.ts";
import { findField, type Schema } from "../schema/schema.ts";
import type { Filter } from "../search/filter/filter.ts";
import { analyzePhrase, type TextClause } from "../search/text/query.ts";
import { JsonFields } from "./json-fields.ts";
import { queryLimits } from "./limits.ts";
import type { HighlightField, Projection, Retriever } from "./plan.ts";

/** Always in a row, and so no error to ask for. */
const alwaysShown = ["_id", "_score"];

/** The names of a projection; each must be a field or vector of the schema. */
function projectionNames(body: JsonFields, name: string, schema: Schema): ReadonlySet<string> | undefined {
  const names = body.strings(name, queryLimits.projectionMax);
  if (names === undefined) return undefined;
  const known = new Set([...schema.fields, ...schema.vectors, ...schema.sparseVectors].map((entry) => entry.name));
  names.forEach((entry, i) => {
    if (known.has(entry) || (name === "select" && alwaysShown.includes(entry))) return;
    throw invalid(`${body.at(name)}[${i}]`, `the schema has no field "${entry.slice(0, 255)}"`);
  });
  return new Set(names);
}

/**
 * `select` names what to show (all fields when absent), `exclude` what not to. Vectors are shown when `select` names them
 * or with `include_vectors`.
 */
export function parseProjection(body: JsonFields, schema: Schema): Projection {
  const select = projectionNames(body, "select", schema);
  const exclude = projectionNames(body, "exclude", schema);
  const withVectors = body.boolean("include_vectors");
  const isVectorShown = ({ name }: { name: string }) =>
    (withVectors || select?.has(name) === true) && exclude?.has(name) !== true;
  return {
    fields: schema.fields.filter(({ name }) => select?.has(name) !== false && exclude?.has(name) !== true),
    vectors: schema.vectors.filter(isVectorShown).map(({ name }) => name),
    sparseVectors: schema.sparseVectors.filter(isVectorShown).map(({ name }) => name),
  };
}

/** What a filter asks of the words of a field, leaving out what it asks not to be there. */
function filterClauses(filter: Filter, field: string, analyzer: string): TextClause[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.flatMap((child) => filterClauses(child, field, analyzer));
    case "match":
    case "phrase": {
      if (filter.field !== field) return [];
      const { terms, offsets } = analyzePhrase(analyzer, filter.text);
      if (filter.kind === "phrase" && terms.length > 1) return [{ kind: "phrase", terms, offsets }];
      return terms.map((term) => ({ kind: "term", term }));
    }
    default:
      return [];
  }
}

/** The text fields to highlight, each with what retrievers and filters look for in it. */
export function parseHighlight(
  body: JsonFields,
  schema: Schema,
  retrievers: readonly Retriever[],
  filter: Filter | undefined,
): HighlightField[] | undefined {
  const input = body.get("highlight");
  if (input === undefined) return undefined;
  const highlight = new JsonFields(body.at("highlight"), input, ["fields"]);
  const names = highlight.strings("fields", queryLimits.highlightFieldsMax);
  if (names === undefined) throw invalid(highlight.at("fields"), "is required");
  const filters = [filter, ...retrievers.map((retriever) => retriever.filter)].filter((each) => each !== undefined);
  return [...new Set(names)].map((name, i) => {
    const field = findField(schema, name);
    const path = `${highlight.at("fields")}[${i}]`;
    if (field === undefined) throw invalid(path, `the schema has no field "${name.slice(0, 255)}"`);
    if (field.kind.kind !== "text") throw invalid(path, `"${name}" is not a text field`);
    const { analyzer } = field.kind;
    const texts = retrievers.flatMap((each) => (each.kind === "text" && each.field === name ? each.query.clauses : []));
    const clauses = [...texts, ...[...new Set(filters)].flatMap((each) => filterClauses(each, name, analyzer))];
    return { field, analyzer, clauses };
  });
}
