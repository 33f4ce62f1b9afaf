import { createHash } from "node:crypto";
import { searchGuides } from "./guide-search.ts";
import { type Guide, guideGroups } from "./guides.ts";

/** Guides and the API reference as pages made on the server: no script, no outside resource. */
interface OperationDoc {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly ParameterDoc[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> };
  readonly responses?: Readonly<Record<string, ResponseDoc>>;
}

interface ParameterDoc {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: { readonly type?: unknown; readonly default?: unknown };
}

interface ResponseDoc {
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
}

export interface OpenApiDoc {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, OperationDoc>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --accent: #7aa7ff; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; }
nav { display: flex; gap: 1.25rem; padding-bottom: .5rem; border-bottom: 1px solid var(--line); }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; } .tag { margin-top: 1.75rem; text-transform: capitalize; }
form { display: flex; gap: .5rem; margin: 1rem 0; } input { flex: 1; font: inherit; padding: .35rem .6rem; } button { font: inherit; }
a { color: var(--accent); } .guides { padding-left: 1.2rem; } .guides li { margin: .35rem 0; }
main { overflow-wrap: break-word; } main > table { display: block; overflow-x: auto; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding: .6rem .8rem; }
summary:focus-visible { outline: 2px solid var(--accent); border-radius: 8px; }
.method { color: var(--accent); font: 600 13px/1.7 ui-monospace, monospace; min-width: 3.5rem; }
.path { font: 13px/1.7 ui-monospace, monospace; overflow-wrap: anywhere; }
.note { opacity: .8; } .in { padding: 0 .8rem .8rem; }
table { border-collapse: collapse; width: 100%; } td, th { border-top: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
pre { background: var(--soft); border-radius: 6px; overflow: auto; padding: .6rem; }
`;

/** Nothing but the page's own style. */
export const docsPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  // The search.
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

function escapeHtml(text: unknown): string {
  const named: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(text).replace(/[&<>"]/g, (character) => named[character]!);
}

function schemaBlock(title: string, schema: unknown): string {
  if (schema === undefined) return "";
  return `<h4>${escapeHtml(title)}</h4><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`;
}

function parameterRows(parameters: readonly ParameterDoc[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const notes = [required ? "required" : "", description ?? ""].filter(Boolean).join("; ");
    const fallback = schema?.default === undefined ? "" : ` (default ${escapeHtml(schema.default)})`;
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(place)}</td><td>${escapeHtml(schema?.type ?? "")}${fallback}</td><td>${escapeHtml(notes)}</td></tr>`;
  });
  return `<table><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
}

function operationBlock(path: string, method: string, operation: OperationDoc): string {
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) =>
    schemaBlock(type === "application/json" ? "Request body" : `Request body, ${type}`, schema),
  );
  const responses = Object.entries(operation.responses ?? {})
    .filter(([status]) => /^2\d\d$/.test(status))
    .map(([status, { description, content }]) =>
      schemaBlock(`${status} ${description ?? ""}`, content?.["application/json"]?.schema),
    );
  return `<details data-operation="${escapeHtml(JSON.stringify(tryable(path, method, operation)))}"><summary><span class="method">${escapeHtml(method.toUpperCase())}</span><span class="path">${escapeHtml(path)}</span><span class="note">${escapeHtml(operation.summary ?? "")}</span></summary>
<div class="in">${parameterRows(operation.parameters ?? [])}${bodies.join("")}${responses.join("")}</div></details>`;
}

/** What a form needs to send the request. */
function tryable(path: string, method: string, { parameters = [], requestBody }: OperationDoc) {
  const schema = requestBody?.content?.["application/json"]?.schema;
  return {
    method: method.toUpperCase(),
    path,
    parameters: parameters
      .filter(({ in: place }) => place === "path" || place === "query")
      .map(({ name, in: place, required = false, description = "" }) => ({ name, in: place, required, description })),
    ...(requestBody === undefined ? {} : { body: JSON.stringify(exampleOf(schema), null, 2) }),
  };
}

interface ExampleSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, ExampleSchema>>;
  readonly required?: readonly string[];
  readonly items?: ExampleSchema;
  readonly enum?: readonly unknown[];
}

/** The least that a body must have, to be filled in. */
function exampleOf(schema: unknown): unknown {
  const { type, properties = {}, required = [], items, enum: words } = (schema ?? {}) as ExampleSchema;
  if (words !== undefined) return words[0];
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
      return items === undefined ? [] : [exampleOf(items)];
    default:
      return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name])]));
  }
}

function searchForm(question: string): string {
  return `<form role="search" action="/docs"><input type="search" name="q" aria-label="Search the documentation" maxlength="200" value="${escapeHtml(question)}"><button>Search</button></form>`;
}

/** What a search found, by its sections. */
export function searchPage(question: string, guides: readonly Guide[]): string {
  const found = searchGuides(guides, question).map(({ guide, section, excerpt }) => {
    const title = [guide.title, section.heading].filter((each) => each !== "").join(": ");
    const hash = section.slug === "" ? "" : `#${section.slug}`;
    return `<li><a href="/docs/${guide.name}${hash}">${escapeHtml(title)}</a> ${escapeHtml(excerpt)}</li>`;
  });
  const list =
    found.length === 0 ? "<p>No page has all of these words.</p>" : `<ul class="guides">${found.join("")}</ul>`;
  return page("Search · native-engine", `<h1>Search</h1>${searchForm(question)}${list}`);
}

function guideList(guides: readonly Guide[]): string {
  const items = (pages: readonly string[]) =>
    guides
      .filter(({ name }) => pages.includes(name))
      .map(
        ({ name, title, summary }) =>
          `<li><a href="/docs/${name}">${escapeHtml(title)}</a> ${escapeHtml(summary)}</li>`,
      )
      .join("");
  return guideGroups.map(({ title, pages }) => `<h2>${title}</h2><ul class="guides">${items(pages)}</ul>`).join("\n");
}

function page(title: string, main: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><nav aria-label="Site"><a href="/">Console</a> <a href="/docs">Documentation</a> <a href="/openapi.json">OpenAPI</a></nav>
<main>${main}</main></body></html>`;
}

/** The guides, and the reference of every route below them. */
export function docsPage(document: OpenApiDoc, guides: readonly Guide[]): string {
  const groups = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), operationBlock(path, method, operation)]);
    }
  }
  const { title, version, description = "" } = document.info;
  const sections = [...groups].map(([tag, blocks]) => `<h3 class="tag">${escapeHtml(tag)}</h3>${blocks.join("\n")}`);
  const shapes = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => schemaBlock(name, schema));
  return page(
    `${title} documentation`,
    `<h1>Documentation</h1><p class="note">${escapeHtml(title)} ${escapeHtml(version)}. ${escapeHtml(description)}.</p>
${searchForm("")}
${guideList(guides)}
<h2 id="api">API reference</h2><p class="note">Every route. As a document: <a href="/openapi.json">/openapi.json</a></p>
${sections.join("\n")}
<h3 class="tag">Shapes</h3>${shapes.join("\n")}`,
  );
}

export function guidePage(guide: Guide): string {
  return page(`${guide.title} · native-engine`, guide.html());
}
