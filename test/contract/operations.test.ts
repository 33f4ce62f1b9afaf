import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { StreamClient } from "../support/streams.ts";

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start();
});
after(() => server[Symbol.asyncDispose]());

for (const path of ["/health", "/ready", "/health?probe=1"]) {
  test(`GET ${path} is 200`, async () => assert.equal((await ask(server.url + path)).status, 200));
}

test("HEAD is served where GET is, without a body", async () => {
  const answer = await ask(`${server.url}/health`, { method: "HEAD" });
  assert.equal(answer.status, 200);
  assert.equal(answer.text, "");
});

test("every answer has a request id of its own", async () => {
  const ids = new Set<string | null>();
  for (const path of ["/health", "/nowhere", "/v1/namespaces", "/v1/namespaces/missing"]) {
    const id = (await ask(server.url + path)).headers.get("x-request-id");
    assert.match(id ?? "", /^\S+$/, path);
    ids.add(id);
  }
  assert.equal(ids.size, 4);
});

for (const [given, kept] of [
  ["abc-123", true],
  ["x".repeat(128), true],
  ["x".repeat(129), false],
  ["two words", false],
] as const) {
  test(`a request id ${given.slice(0, 12)} of ${given.length} characters is ${kept ? "kept" : "replaced"}`, async () => {
    const answer = await ask(`${server.url}/health`, { headers: { "x-request-id": given } });
    assert.equal(answer.headers.get("x-request-id") === given, kept);
    assert.notEqual(answer.headers.get("x-request-id"), null);
  });
}

/** Every route of the streams API; a path here and not in the document, or the reverse, fails. */
const routes: Readonly<Record<string, readonly string[]>> = {
  "/health": ["get"],
  "/ready": ["get"],
  "/metrics": ["get"],
  "/openapi.json": ["get"],
  "/docs": ["get"],
  "/docs/{page}": ["get"],
  "/v1/namespaces": ["get", "post"],
  "/v1/namespaces/{ns}": ["delete", "get"],
  "/v1/namespaces/{ns}/streams": ["get", "post"],
  "/v1/namespaces/{ns}/streams/{stream}": ["delete", "get", "patch"],
  "/v1/namespaces/{ns}/streams/{stream}/records": ["post"],
  "/v1/namespaces/{ns}/streams/{stream}/partitions/{partition}/records": ["get", "post"],
};

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly summary?: string;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

async function openApi(): Promise<OpenApi> {
  const answer = await ask(`${server.url}/openapi.json`);
  assert.equal(answer.status, 200);
  return answer.json as OpenApi;
}

test("/openapi.json is a valid OpenAPI 3.1 document", async () => {
  const document = await openApi();
  assert.match(document.openapi, /^3\.1\./);
  const result = await new Validator().validate(document as unknown as Record<string, unknown>);
  assert.deepEqual(result, { valid: true });
});

test("every schema of a route is a valid JSON Schema", async () => {
  const schemas = schemasIn(await openApi());
  assert.ok(schemas.length > 100);
  const ajv = new Ajv2020({ strict: false });
  for (const schema of schemas) {
    assert.ok(ajv.validateSchema(schema), `${JSON.stringify(schema)}: ${ajv.errorsText(ajv.errors)}`);
  }
});

/** What stands under `schema` anywhere in a document: bodies, parameters and answers. */
function schemasIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    name === "schema" && typeof each === "object" ? [each as object] : schemasIn(each),
  );
}

test("/openapi.json lists the routes, each with a summary, a success and a failure", async () => {
  const { paths } = await openApi();
  for (const [path, methods] of Object.entries(routes)) {
    const listed = Object.keys(paths[path] ?? {}).filter((method) => method !== "head");
    assert.deepEqual(listed.sort(), methods, path);
    for (const method of methods) {
      const { summary, responses } = paths[path]![method]!;
      assert.ok(summary, `${method} ${path} has a summary`);
      const statuses = Object.keys(responses);
      assert.ok(
        statuses.some((status) => status.startsWith("2")),
        `${method} ${path} answers ${statuses}`,
      );
      assert.ok(statuses.includes("4XX"), `${method} ${path} answers ${statuses}`);
    }
  }
});

const bodies: readonly (readonly [path: string, body: unknown, isValid: boolean])[] = [
  ["collections", { name: "a", schema: { fields: [{ name: "t", kind: { text: { analyzer: "english" } } }] } }, true],
  ["collections", { name: "b", schema: { vectors: [{ name: "v", dim: 2, distance: "l2" }], max_fields: null } }, true],
  ["collections", { name: "c", schema: { fields: [{ name: "_t", kind: "text" }] } }, false],
  ["collections", { name: "c", schema: { fields: [{ name: "t", kind: "varchar" }] } }, false],
  ["collections", { name: "c", schema: { fields: [{ name: "t", kind: "json", source_path: "a..b" }] } }, false],
  ["collections", { name: "c", schema: { vectors: [{ name: "v", dim: 0 }] } }, false],
  ["collections/{c}/documents", { ops: [{ upsert: { id: 1, source: { k: "x" }, vectors: { v: [1, 0] } } }] }, true],
  ["collections/{c}/documents", { ops: [{ delete: { id: 2, if: { term: { k: "x" } }, if_version: null } }] }, true],
  ["collections/{c}/documents", { ops: [{ upsert: { id: 1 } }] }, false],
  ["collections/{c}/documents", { ops: [{ delete: { id: 1, source: {} } }] }, false],
  ["collections/{c}/documents", { ops: [{ delete: { id: 1 }, patch: { id: 1 } }] }, false],
  ["collections/{c}/documents/count", { filter: { bool: { must: { term: { k: "x" } }, should: null } } }, true],
  ["collections/{c}/documents/count", { filter: { and: [{ not: { terms: { k: ["x"] } } }] } }, true],
  ["collections/{c}/documents/count", { filter: { or: [{ like: { k: "x" } }] } }, false],
  ["collections/{c}/documents/delete_by_filter", { filter: null }, false],
  ["collections/{c}/documents/patch_by_filter", { filter: { ids: { values: [7] } }, patch: { set: {} } }, false],
  ["query", { from: "collections.docs", retrieve: [{ vector: { field: "v", query: [1, 0], k: 3 } }], limit: 3 }, true],
  ["query", { queries: [{ from: "docs", sort: [{ field: "_id", order: "desc" }], facets: null }] }, true],
  ["query", { from: "docs", retrieve: [{ vector: { field: "v", query: [1, 0], k: 0 } }] }, false],
  ["query", { from: "docs", limit: 10_001 }, false],
  ["query", {}, false],
  ["aliases", { actions: [{ add: { alias: "other", collection: "docs" } }] }, true],
  ["aliases", { actions: [{ add: { alias: "other" } }] }, false],
];

test("/openapi.json allows the bodies that are taken and no others", async () => {
  const document = await openApi();
  const collections = await CollectionClient.create(server.url, "described");
  const fields = [{ name: "k", kind: "keyword" }];
  await collections.made("docs", { fields, vectors: [{ name: "v", dim: 2 }] });
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, "openapi");
  for (const [path, body, isValid] of bodies) {
    const pointer = `/paths/${encodeURIComponent(`/v1/namespaces/{ns}/${path}`.replaceAll("/", "~1"))}/post/requestBody`;
    const validate = ajv.getSchema(`openapi#${pointer}/content/application~1json/schema`)!;
    const { status } = await ask(`${collections.url}/${path.replace("{c}", "docs")}`, { body });
    const told = `${path} ${JSON.stringify(body)}`;
    assert.deepEqual([validate(body), status], [isValid, isValid ? 200 : 400], told);
  }
});

test("every path parameter in /openapi.json is declared", async () => {
  for (const [path, operations] of Object.entries((await openApi()).paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const [method, { parameters = [] }] of Object.entries(operations)) {
      const declared = parameters.filter((each) => each.in === "path").map(({ name }) => name);
      assert.deepEqual(declared.sort(), named.sort(), `${method} ${path}`);
    }
  }
});

test("/docs shows every route and loads nothing from elsewhere", async () => {
  const answer = await ask(`${server.url}/docs`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
  for (const path of Object.keys(routes)) assert.ok(answer.text.includes(path), path);
  assert.doesNotMatch(answer.text, /(?:src|href)\s*=\s*["']?(?:https?:)?\/\/|@import|url\(/i);
});

test("/docs lists the guides, and each of them is a page that loads nothing", async () => {
  const { text } = await ask(`${server.url}/docs`);
  const pages = Array.from(text.matchAll(/href="(\/docs\/[\w-]+)"/g), ([, path]) => path!);
  assert.ok(pages.includes("/docs/readme") && pages.includes("/docs/query"), pages.join());
  for (const path of pages) {
    const page = await ask(server.url + path);
    assert.equal(page.status, 200, path);
    assert.match(page.text, /<h1/, path);
    assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; style-src 'sha256-/, path);
    assert.doesNotMatch(page.text, /<script|<img|<link|src\s*=|@import|url\(/i, path);
  }
});

test("links between the guides lead to pages that exist", async () => {
  const { text } = await ask(`${server.url}/docs/collections`);
  const links = Array.from(text.matchAll(/href="(\/docs\/[\w-]+)/g), ([, path]) => path!);
  assert.ok(links.includes("/docs/search"));
  for (const path of links) assert.equal((await ask(server.url + path)).status, 200, path);
});

test("an unknown guide is 404", async () => {
  for (const page of ["nothing", "..%2FREADME", "QUERY"]) {
    assert.equal((await ask(`${server.url}/docs/${page}`)).status, 404, page);
  }
});

/** Reads the Prometheus text format, failing at a line that has no place in it. */
function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || /^# (?:HELP|TYPE) [a-zA-Z_:][\w:]* .+$/.test(line)) continue;
    const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line);
    assert.ok(match, `not a sample: ${line}`);
    const value = match[2] === "+Inf" ? Number.POSITIVE_INFINITY : Number(match[2]);
    assert.ok(!Number.isNaN(value) || match[2] === "Nan", line);
    samples.set(match[1]!, value);
  }
  return samples;
}

test("/metrics counts requests by route, the log's commits and the watermarks", async () => {
  const client = await StreamClient.create(server.url, "metered");
  const id = await client.createStream("s");
  await client.append("s", ["a", "b", "c"]);
  await client.append("s", ["d"]);
  assert.equal((await client.fetch("s", "offset=99")).status, 416);
  const answer = await ask(`${server.url}/metrics`);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
  const samples = parseMetrics(answer.text);
  const route = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
  assert.equal(samples.get(`service_http_requests_total{route="${route}",method="POST",status="200"}`), 2);
  assert.equal(samples.get(`service_http_requests_total{route="${route}",method="GET",status="416"}`), 1);
  assert.equal(samples.get(`service_http_request_seconds_count{route="${route}",method="POST"}`), 2);
  assert.equal(samples.get(`service_log_high_watermark{stream="${id}",partition="0"}`), 4);
  assert.ok(samples.get("service_log_sync_seconds_count")! >= 4);
  assert.ok(samples.get("service_store_disk_bytes")! > 0);
  assert.ok(samples.get("service_connections")! >= 1);
  assert.ok(samples.get("process_resident_memory_bytes")! > 0);
});
