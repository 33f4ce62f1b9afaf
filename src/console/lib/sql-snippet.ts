import type { QueryBody, RetrieverBody } from "./search-state.ts";

/**
 * A query as one SQL statement. What SQL has no words for, or says otherwise, stands above it as remarks.
 */
export function sql(body: QueryBody): string {
  const notes: string[] = [];
  const table = name(body.from.replace(/^collections\./, ""));
  const where = body.filter === undefined ? undefined : condition(body.filter);
  // A filter that WHERE has no words for goes to the retrievers as it is.
  const filter = body.filter !== undefined && where === undefined ? body.filter : undefined;
  const retrievers = (body.retrieve ?? []).map((each) => retrieverCall(table, each, filter));
  if (filter !== undefined && retrievers.length === 0)
    notes.push("This filter has no form in SQL: all documents come.");
  if (body.fuse?.method === "weighted") notes.push("SQL fuses by rank (rrf); fusion by score is the query API's.");
  if (body.highlight !== undefined) notes.push("Highlights have no form in SQL.");
  const from = source(table, retrievers, body.fuse?.k);
  const rowsOf = (field: string | undefined) => {
    const conditions = [where === "true" ? undefined : where, field && `${name(field)} IS NOT NULL`];
    const defined = conditions.filter((each) => each !== undefined);
    return [`FROM ${from}`, ...(defined.length === 0 ? [] : [`WHERE ${defined.join(" AND ")}`])];
  };
  for (const { field } of body.facets ?? []) {
    notes.push(`A facet is a statement of its own:\n${facet(field, rowsOf(field))}`);
  }
  const lines = ["SELECT *", ...rowsOf(body.group_by?.field), ...groupLines(body, retrievers.length > 0, notes)];
  return [...notes.map(remark), ...lines].join("\n");
}

function remark(text: string): string {
  return text.replaceAll(/^/gm, "-- ");
}

function retrieverCall(table: string, each: Readonly<Record<string, RetrieverBody>>, filter: unknown): string {
  const [kind, body] = Object.entries(each)[0]!;
  const named = [
    ...(body.weight === undefined ? [] : [`weight := ${body.weight}`]),
    ...(body.operator === undefined ? [] : [`operator := ${literal(body.operator)}`]),
    ...(filter === undefined ? [] : [`filter := ${literal(JSON.stringify(filter))}`]),
  ];
  return `${kind}_search(${[table, queryLiteral(body.query), name(body.field), body.k, ...named].join(", ")})`;
}

function queryLiteral(query: RetrieverBody["query"]): string {
  if (typeof query === "string") return literal(query);
  return "indices" in query ? literal(JSON.stringify(query)) : `[${query.join(", ")}]`;
}

function source(table: string, retrievers: readonly string[], k: number | undefined): string {
  if (retrievers.length < 2) return retrievers[0] ?? table;
  const constant = k === undefined || k === 60 ? "" : `,\n  k := ${k}`;
  return `rrf(\n  ${retrievers.join(",\n  ")}${constant}\n)`;
}

function facet(field: string, filtered: readonly string[]): string {
  const column = name(field);
  const select = [`SELECT ${column} AS value, count(*) AS count`, ...filtered];
  return [...select, `GROUP BY ${column}`, "ORDER BY count DESC, value", "LIMIT 10"].join("\n");
}

/** What follows FROM and WHERE: groups, the order and how much. */
function groupLines(body: QueryBody, hasScore: boolean, notes: string[]): string[] {
  const keys = (body.sort ?? []).map(({ field, order }) => `${name(field)} ${order.toUpperCase()} NULLS LAST`);
  const order = keys.length > 0 ? keys : hasScore ? ["_score DESC"] : [];
  const best = [...order, "_id"].join(", ");
  if (body.group_by === undefined) return [`ORDER BY ${best}`, `LIMIT ${body.limit}`];
  const { field, size } = body.group_by;
  const column = name(field);
  notes.push("LIMIT counts rows here; the query API's counts groups, and orders them by their best row.");
  return [
    `QUALIFY row_number() OVER (PARTITION BY ${column} ORDER BY ${best}) <= ${size}`,
    `ORDER BY ${column}, ${best}`,
    `LIMIT ${body.limit * size}`,
  ];
}

function name(text: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

function literal(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return `'${String(value).replaceAll("'", "''")}'`;
}

type Json = Readonly<Record<string, unknown>>;
const comparisons: Readonly<Record<string, string>> = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

/** The condition that a filter is, or undefined for one that SQL has no words for. */
function condition(filter: unknown): string | undefined {
  const [kind, body] = Object.entries(filter as Json)[0] ?? [];
  if (kind === "and" || kind === "or") return joined(body, kind.toUpperCase());
  if (kind === "match_all") return "true";
  if (typeof body !== "object" || body === null) return undefined;
  if (kind === "not") {
    const inner = condition(body);
    return inner === undefined ? undefined : `NOT coalesce(${inner}, false)`;
  }
  const [field, value] = Object.entries(body)[0] ?? [];
  if (field === undefined) return undefined;
  switch (kind) {
    case "term":
      return `${name(field)} = ${literal(value)}`;
    case "terms":
      return `${name(field)} IN (${(value as unknown[]).map(literal).join(", ")})`;
    case "range":
      return Object.entries(value as Json)
        .map(([bound, limit]) => `${name(field)} ${comparisons[bound] ?? "="} ${literal(limit)}`)
        .join(" AND ");
    case "exists":
      return `${name(String(value))} IS NOT NULL`;
    case "prefix":
      return `starts_with(${name(field)}, ${literal(value)})`;
    case "ids":
      return `_id IN (${(value as unknown[]).map(literal).join(", ")})`;
    default:
      return undefined;
  }
}

function joined(parts: unknown, word: string): string | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const found = parts.map(condition);
  return found.includes(undefined) ? undefined : `(${found.join(` ${word} `)})`;
}
