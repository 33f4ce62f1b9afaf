import type { QueryBody } from "./search-state.ts";

/** One query in the languages people call it from. */
export interface Snippets {
  readonly curl: string;
  readonly typescript: string;
  readonly python: string;
  readonly sql: string;
}

export interface Place {
  readonly origin: string;
  readonly namespace: string;
  /** Whether a credential has to be sent. */
  readonly signedIn: boolean;
}

/** JSON with arrays of numbers on one line. */
export function compactJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /\[\s+(-?[\d.eE+-]+(?:,\s+-?[\d.eE+-]+)*)\s+\]/g,
    (_all, inner: string) => `[${inner.replaceAll(/,\s+/g, ", ")}]`,
  );
}

export function snippetsOf(body: QueryBody, place: Place): Snippets {
  return { curl: curl(body, place), typescript: typescript(body, place), python: python(body, place), sql: sql(body) };
}

function addressOf({ origin, namespace }: Place): string {
  return `${origin}/v1/namespaces/${encodeURIComponent(namespace)}/query`;
}

function curl(body: QueryBody, place: Place): string {
  const credential = place.signedIn ? ` \\\n  -H "authorization: Bearer $API_KEY"` : "";
  const json = compactJson(body).replaceAll("'", "'\\''");
  return `curl -X POST ${addressOf(place)}${credential} \\\n  -H 'content-type: application/json' -d '${json}'`;
}

function typescript(body: QueryBody, place: Place): string {
  const credential = place.signedIn ? '\n    authorization: "Bearer " + process.env.API_KEY,' : "";
  const json = compactJson(body).replaceAll("\n", "\n  ");
  return `const response = await fetch("${addressOf(place)}", {
  method: "POST",
  headers: {
    "content-type": "application/json",${credential}
  },
  body: JSON.stringify(${json}),
});
if (!response.ok) throw new Error(await response.text());
const { rows } = await response.json();
for (const row of rows) console.log(row._id, row._score);`;
}

function python(body: QueryBody, place: Place): string {
  const credential = place.signedIn ? '\n    "authorization": "Bearer " + os.environ["API_KEY"],' : "";
  const imports = place.signedIn
    ? "import json\nimport os\nimport urllib.request"
    : "import json\nimport urllib.request";
  return `${imports}

query = ${pythonValue(body)}
request = urllib.request.Request(
    "${addressOf(place)}",
    data=json.dumps(query).encode(),
    headers={
    "content-type": "application/json",${credential}
    },
)
with urllib.request.urlopen(request) as response:
    for row in json.load(response)["rows"]:
        print(row["_id"], row["_score"])`;
}

/** JSON is Python but for three words. */
function pythonValue(value: unknown): string {
  const words: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" };
  return compactJson(value).replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (found) => words[found] ?? found);
}

function sql(body: QueryBody): string {
  const collection = body.from.replace(/^collections\./, "");
  const table = name(collection);
  const retrievers = (body.retrieve ?? []).map((each) => {
    const [kind, given] = Object.entries(each)[0]!;
    const query = typeof given.query === "string" ? literal(given.query) : `[${given.query.join(", ")}]`;
    return `${kind}_search(${table}, ${query}, ${name(given.field)}, ${given.k})`;
  });
  const notes: string[] = [];
  if (body.fuse?.method === "weighted")
    notes.push("-- SQL fuses by rank: weights and the weighted method are the query API's.");
  else if ((body.retrieve ?? []).some((each) => Object.values(each).some(({ weight }) => weight !== undefined))) {
    notes.push("-- SQL fuses without weights.");
  }
  const k = body.fuse?.k === undefined || body.fuse.k === 60 ? "" : `, ${body.fuse.k}`;
  const from =
    retrievers.length === 0
      ? table
      : retrievers.length === 1
        ? retrievers[0]!
        : `rrf(\n  ${retrievers.join(",\n  ")}${k}\n)`;
  const where = body.filter === undefined ? "" : whereClause(body.filter, notes);
  const order = retrievers.length === 0 ? "ORDER BY _id" : "ORDER BY _score DESC";
  return [
    ...notes,
    "SELECT *",
    `FROM ${from}`,
    ...(where === "" ? [] : [`WHERE ${where}`]),
    order,
    `LIMIT ${body.limit}`,
  ].join("\n");
}

function name(text: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

function literal(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return `'${String(value).replaceAll("'", "''")}'`;
}

function whereClause(filter: unknown, notes: string[]): string {
  const found = condition(filter);
  if (found !== undefined) return found;
  notes.push("-- This filter has no form in SQL's WHERE; the query API applies it before the top k.");
  return "";
}

type Json = Readonly<Record<string, unknown>>;
const comparisons: Readonly<Record<string, string>> = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

/** The condition that a filter is, or undefined for one that SQL has no words for. */
function condition(filter: unknown): string | undefined {
  const [kind, given] = Object.entries(filter as Json)[0] ?? [];
  if (kind === "and" || kind === "or") return joined(given, kind.toUpperCase());
  if (kind === "match_all") return "true";
  if (typeof given !== "object" || given === null) return undefined;
  if (kind === "not") {
    const inner = condition(given);
    return inner === undefined ? undefined : `NOT coalesce(${inner}, false)`;
  }
  const [field, value] = Object.entries(given)[0] ?? [];
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
