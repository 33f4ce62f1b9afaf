import type { QueryBody } from "./search-state.ts";
import { sql } from "./sql-snippet.ts";

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
const answer = await response.json();
${typescriptLoop(body)}`;
}

function typescriptLoop(body: QueryBody): string {
  const facets = body.facets === undefined ? "" : "\nconsole.log(answer.facets);";
  if (body.group_by === undefined) return `for (const row of answer.rows) console.log(row._id, row._score);${facets}`;
  return `for (const { key, rows } of answer.groups) {
  for (const row of rows) console.log(key, row._id, row._score);
}${facets}`;
}

function python(body: QueryBody, place: Place): string {
  const credential = place.signedIn ? '\n        "authorization": "Bearer " + os.environ["API_KEY"],' : "";
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
    answer = json.load(response)
${pythonLoop(body)}`;
}

function pythonLoop(body: QueryBody): string {
  const facets = body.facets === undefined ? "" : '\nprint(answer["facets"])';
  if (body.group_by === undefined) {
    return `for row in answer["rows"]:\n    print(row["_id"], row["_score"])${facets}`;
  }
  return `for group in answer["groups"]:
    for row in group["rows"]:
        print(group["key"], row["_id"], row["_score"])${facets}`;
}

/** JSON is Python but for three words. */
function pythonValue(value: unknown): string {
  const words: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" };
  return compactJson(value).replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (found) => words[found] ?? found);
}
