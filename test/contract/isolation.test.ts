import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { Code, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { openAuthStore } from "../../src/composition/auth-store.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import * as flightSql from "../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";
import { CollectionService } from "../../src/gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../src/gen/service/collection/v1/document_pb.ts";
import { QueryService } from "../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService } from "../../src/gen/service/instance/v1/instance_pb.ts";
import { type Answer, ask, base64 } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";
import { FlightTestClient } from "../wire/flight/client.ts";
import { failureOf, transports } from "../wire/rpc/clients.ts";

/**
 * Two namespaces with the same names in both, and keys that are good for one. Whatever edge the holder of such a key
 * takes, and whatever of the other namespace is named, brought along or asked for, nothing of it is seen or changed.
 */
const secret = "the-other-namespaces-secret";
const roles = ["reader", "writer", "admin"] as const;

let server: ServerProcess;
let dataDir: string;
let mysqlPort: number;
const keys = new Map<string, string>();

before(async () => {
  dataDir = await temporaryFolder();
  const store = openAuthStore(dataDir);
  const made = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
  keys.set("boss", (await made.create({ name: "boss", role: "admin" })).key);
  for (const role of roles) keys.set(role, (await made.create({ name: role, role, namespaces: ["own"] })).key);
  await store.close();
  server = await ServerProcess.start({ dataDir, env: { SERVICE_AUTH_MODE: "apikey" } });
  mysqlPort = Number(/"mysql":"127\.0\.0\.1:(\d+)"/.exec(server.logs.join("\n"))?.[1]);
  for (const [namespace, word] of [
    ["own", "mine"],
    ["other", secret],
  ]) {
    const root = `/v1/namespaces/${namespace}`;
    await done("/v1/namespaces", { name: namespace });
    for (const name of namespace === "other" ? ["s", "only"] : ["s"]) {
      await done(`${root}/streams`, { name });
      await done(`${root}/streams/${name}/partitions/0/records`, {
        records: [{ key: base64(word!), value: base64(word!) }],
      });
    }
    const schema = { fields: [{ name: "title", kind: "text" }], vectors: [{ name: "v", dim: 2, distance: "cosine" }] };
    for (const name of namespace === "other" ? ["c", "only"] : ["c"]) {
      await done(`${root}/collections`, { name, schema });
      const ops = [1, 2, 3].map((id) => ({ upsert: { id, source: { title: word }, vectors: { v: [1, 0] } } }));
      await done(`${root}/collections/${name}/documents`, { ops });
    }
    await done(`${root}/links`, {
      name: namespace === "other" ? "only" : "l",
      source: "s",
      options: { amount: "one" },
    });
  }
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

function as(who: string, path: string, options: Parameters<typeof ask>[1] = {}): Promise<Answer> {
  return ask(`${server.url}${path}`, {
    ...options,
    headers: { authorization: `Bearer ${keys.get(who)}`, ...options.headers },
  });
}

async function done(path: string, body: unknown): Promise<void> {
  const answer = await as("boss", path, { body });
  assert(answer.status < 300, `${path}: ${answer.text}`);
}

/** What was answered tells nothing of the other namespace. */
function blind(answer: { readonly text: string } | string): void {
  const text = typeof answer === "string" ? answer : answer.text;
  assert(!text.includes(secret), text);
}

/** Everything of the other namespace, as its owner sees it. */
async function otherState(): Promise<string> {
  const root = "/v1/namespaces/other";
  const paths = ["/streams", "/streams/s", "/links", "/links/only", "/aliases", "/collections/c", "/collections/only"];
  const seen = await Promise.all(paths.map((path) => as("boss", root + path)));
  const documents = await as("boss", `${root}/collections/c/documents/scroll`, { body: {} });
  return JSON.stringify(
    [...seen, documents].map(({ json }) => json),
    (name, value: unknown) =>
      // Indexes are sealed in the background.
      ["manifest", "hot", "backpressure"].includes(name) ? undefined : value,
  );
}

test("REST: names, tokens, cursors, keys and aliases of another namespace reach nothing", async () => {
  const before = await otherState();
  const root = "/v1/namespaces/own";
  for (const role of roles) {
    for (const path of ["/streams/s", "/collections/c", "/links/only", "/streams/s/partitions/0/records?offset=0"]) {
      const answer = await as(role, `/v1/namespaces/other${path}`);
      assert.equal(answer.status, 403, path);
      blind(answer);
    }
    for (const accept of ["application/json", "text/event-stream"]) {
      const headers = { accept };
      const tail = await as(role, "/v1/namespaces/other/streams/s/partitions/0/records?offset=0", { headers });
      assert.equal(tail.status, 403);
    }
    const names = await as(role, "/v1/namespaces");
    assert.deepEqual(
      names.json.namespaces.map(({ name }: { name: string }) => name),
      ["own"],
    );
    for (const path of ["/metrics", "/v1/instance/backup"]) {
      const answer = await as(role, path, path === "/metrics" ? {} : { body: {} });
      assert.equal(answer.status, 403, path);
    }
    for (const from of ["collections.only", "other.collections.c", "collections.other.c", "other.c"]) {
      const answer = await as(role, `${root}/query`, { body: { from, limit: 5 } });
      assert([400, 404].includes(answer.status), `${from}: ${answer.text}`);
      blind(answer);
    }
  }
  // Names that climb out of their place.
  for (const name of ["..%2Fother", "%2e%2e", "own%2F..%2Fother"]) {
    const answer = await as("admin", `/v1/namespaces/${name}/streams/s`);
    assert([400, 403, 404].includes(answer.status), `${name}: ${answer.status}`);
    blind(answer);
  }
  // A token of another namespace's stream is not waited for, and tells nothing of it by the time it takes.
  const [otherStream] = (await as("boss", "/v1/namespaces/other/streams/s")).json.partitions;
  const { id } = (await as("boss", "/v1/namespaces/other/streams/s")).json as { id: number };
  for (const offset of [otherStream.high_watermark - 1, otherStream.high_watermark + 1_000]) {
    const token = JSON.stringify([{ stream: id, partition: 0, offset }]);
    const headers = { "service-consistency-token": token };
    const answer = await as("reader", `${root}/query`, { body: { from: "collections.c", limit: 5 }, headers });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.rows[0].title, "mine");
  }
  // Cursors and page tokens of the other namespace.
  const page = await as("boss", "/v1/namespaces/other/collections/c/documents/scroll", { body: { limit: 1 } });
  const cursor: string = page.json.next_cursor;
  assert.equal(typeof cursor, "string");
  const scrolled = await as("reader", `${root}/collections/c/documents/scroll`, { body: { limit: 5, cursor } });
  blind(scrolled);
  const listed = await as("boss", "/v1/namespaces/other/collections?page_size=1");
  blind(await as("reader", `${root}/collections?page_token=${encodeURIComponent(listed.json.next_page_token)}`));
  const deleted = await as("writer", `${root}/collections/c/documents/delete_by_filter`, {
    body: { filter: { ids: { values: [99] } }, cursor },
  });
  blind(deleted);
  // A key of an idempotent request is one of its stream.
  const headers = { "idempotency-key": "shared key" };
  const body = { records: [{ value: base64("x") }] };
  const theirs = await as("boss", "/v1/namespaces/other/streams/only/partitions/0/records", { body, headers });
  assert.equal(theirs.status, 200);
  const ours = await as("writer", `${root}/streams/s/partitions/0/records`, { body, headers });
  assert.equal(ours.headers.get("idempotency-replayed"), null);
  assert.equal(await otherState(), before);
});

test("REST: links, aliases and scan plans stay inside", async () => {
  const before = await otherState();
  const root = "/v1/namespaces/own";
  for (const source of ["only", "other/only", "other.only", "~c"]) {
    const answer = await as("admin", `${root}/links`, { body: { name: "steal", source } });
    assert([400, 404].includes(answer.status), `${source}: ${answer.text}`);
  }
  const target = { kind: "collection", name: "only" };
  assert.equal((await as("admin", `${root}/links`, { body: { name: "push", source: "s", target } })).status, 201);
  await eventually(
    async () => (await as("admin", `${root}/links/push`)).json.error as string | undefined,
    (error) => error !== undefined,
  );
  for (const collection of ["only", "other.only", "other/only"]) {
    const body = { actions: [{ add: { alias: "theirs", collection } }] };
    const answer = await as("admin", `${root}/aliases`, { body });
    assert([400, 404].includes(answer.status), `${collection}: ${answer.text}`);
  }
  for (const name of ["only", "..", "c%2F..%2F..%2F2"]) {
    const answer = await as("admin", `${root}/collections/${name}/scan`, { body: {} });
    assert([400, 404].includes(answer.status), `${name}: ${answer.text}`);
  }
  const plans = await eventually(
    async () => [
      (await as("admin", `${root}/collections/c/scan`, { body: {} })).json,
      (await as("boss", "/v1/namespaces/other/collections/c/scan", { body: {} })).json,
    ],
    (found) => found.every(({ lance }) => lance !== null),
  );
  assert.notEqual(plans[0].lance.uri, plans[1].lance.uri);
  assert.equal(await otherState(), before);
});

test("REST SQL: no name leads out of the namespace, for the instance's admin neither", async () => {
  for (const who of ["reader", "admin", "boss"]) {
    for (const query of statements) {
      const answer = await as(who, "/v1/namespaces/own/sql", { body: { query } });
      assert.equal(answer.status, 400, `${query}: ${answer.text}`);
      blind(answer);
    }
    const tables = await as(who, "/v1/namespaces/own/sql", {
      body: { query: "SELECT * FROM information_schema.tables" },
    });
    assert.equal(tables.status, 200);
    assert(!tables.text.includes("only"), tables.text);
    assert.equal(
      (await as(who, "/v1/namespaces/own/sql", { body: { query: "SHOW DATABASES" } })).text.includes("other"),
      false,
    );
  }
});

/** Names that lead nowhere from the namespace `own`. */
const statements = [
  "SELECT * FROM collections.only",
  "SELECT * FROM streams.only",
  "SELECT * FROM links.only",
  "SELECT * FROM other.collections.c",
  "SELECT * FROM other.streams.s",
  "SELECT * FROM vector_search(only, [1, 0], v, 3)",
  "SELECT * FROM text_search(other.c, 'secret', title, 3)",
  "SELECT * FROM read_csv('store/data.mdb')",
  "SELECT * FROM 'objects/collections/2/dataset.lance'",
  "SELECT * FROM duckdb_databases()",
];

test("Connect, gRPC and gRPC-Web: the other namespace is refused, and names lead to one's own", async () => {
  const headers = { authorization: `Bearer ${keys.get("admin")}` };
  for (const [name, transport] of transports(server.url)) {
    for (const [what, call] of Object.entries(calls(transport, "other", headers))) {
      const error: ConnectError = await failureOf(call);
      assert.equal(error.code, Code.PermissionDenied, `${name} ${what}: ${error.message}`);
      blind(error.message);
    }
    const own = calls(transport, "own", headers);
    blind(
      JSON.stringify(await own["search"]!(), (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    );
    const documents = createClient(DocumentService, transport);
    const missing = await failureOf(() =>
      documents.getDocuments({ namespace: "own", collection: "only", ids: [1n] }, { headers }),
    );
    assert.equal(missing.code, Code.NotFound, name);
    const who = await createClient(InstanceService, transport).whoAmI({}, { headers });
    blind(JSON.stringify(who.environments.map(({ namespace }) => namespace)));
    assert(!who.environments.some(({ namespace }) => namespace === "other"), name);
  }
});

function calls(
  transport: Transport,
  namespace: string,
  headers: Record<string, string>,
): Record<string, () => Promise<unknown>> {
  const documents = createClient(DocumentService, transport);
  const collections = createClient(CollectionService, transport);
  const search = createClient(QueryService, transport);
  const ref = { namespace, collection: "c" };
  return {
    get: () => documents.getDocuments({ ...ref, ids: [1n] }, { headers }),
    scroll: () => documents.scrollDocuments(ref, { headers }),
    count: () => documents.countDocuments(ref, { headers }),
    info: () => collections.getCollection(ref, { headers }),
    list: () => collections.listCollections({ namespace }, { headers }),
    scan: () => collections.scan(ref, { headers }),
    search: () => search.search({ namespace, from: "collections.c", limit: 5 }, { headers }),
  };
}

test("Flight SQL: headers, qualified names, tickets and prepared statements of another", async () => {
  const authorization = `Bearer ${keys.get("admin")}`;
  const scoped = new FlightTestClient(server.url, { authorization, namespace: "own" });
  const outside = new FlightTestClient(server.url, { authorization, namespace: "other" });
  const boss = new FlightTestClient(server.url, { authorization: `Bearer ${keys.get("boss")}`, namespace: "other" });
  assert.equal((await failureOf(() => outside.query("SELECT title FROM c"))).code, Code.PermissionDenied);
  for (const query of statements) {
    const error = await failureOf(() => scoped.query(query));
    assert(
      [Code.PermissionDenied, Code.InvalidArgument, Code.NotFound].includes(error.code),
      `${query}: ${error.message}`,
    );
    blind(error.message);
  }
  const statement = flightSql.CommandStatementQuerySchema;
  const { endpoint } = await boss.info(statement, { query: "SELECT title FROM c" });
  const { ticket } = endpoint[0]!.ticket!;
  assert.equal((await boss.take(ticket)).numRows, 3);
  const taken = await scoped.take(ticket).then(
    (table) => JSON.stringify(table.toArray()),
    (error: ConnectError) => error.message,
  );
  blind(taken);
  const { preparedStatementHandle } = await boss.prepare("SELECT title FROM c");
  const stolen = await scoped.get(flightSql.CommandPreparedStatementQuerySchema, { preparedStatementHandle }).then(
    (table) => JSON.stringify(table.toArray()),
    (error: ConnectError) => error.message,
  );
  blind(stolen);
  const catalogs = await scoped.get(flightSql.CommandGetCatalogsSchema, {});
  assert.deepEqual([...catalogs.getChild("catalog_name")!], ["own"]);
  const tables = await scoped.get(flightSql.CommandGetTablesSchema, {});
  assert(![...tables.getChild("table_name")!].includes("only"));
});

test("Postgres: another database is refused, and nothing of it is seen from one's own", async () => {
  const base = { ...server.postgres, user: "u", password: keys.get("admin")! };
  const outside = new pg.Client({ ...base, database: "other" });
  const refused = (await outside.connect().catch((error: unknown) => error)) as { code: string; message: string };
  assert.match(refused.code, /^(42501|3D000)$/, refused.message);
  const client = new pg.Client({ ...base, database: "own" });
  await client.connect();
  try {
    for (const query of statements) {
      const error = (await client.query(query).catch((thrown: unknown) => thrown)) as {
        code?: string;
        message: string;
      };
      assert.equal(typeof error.code, "string", query);
      blind(error.message);
    }
    const { rows } = await client.query("SELECT datname FROM pg_database");
    assert(!rows.some(({ datname }) => datname === "other"), JSON.stringify(rows));
    const relations = await client.query("SELECT relname FROM pg_class");
    assert(!relations.rows.some(({ relname }) => relname === "only"));
    assert.equal((await client.query("SELECT DISTINCT title FROM c")).rows[0].title, "mine");
  } finally {
    await client.end();
  }
});

test("MySQL: another database is refused, and nothing of it is seen from one's own", async () => {
  const base = { host: "127.0.0.1", port: mysqlPort, user: "u", password: keys.get("admin")! };
  await assert.rejects(createConnection({ ...base, database: "other" }), /denied|Unknown database/i);
  const client = await createConnection({ ...base, database: "own" });
  try {
    for (const query of ["USE other", "SELECT * FROM other.c", "SHOW TABLES FROM other", ...statements]) {
      const error = (await client.query(query).catch((thrown: unknown) => thrown)) as {
        errno?: number;
        message: string;
      };
      assert.equal(typeof error.errno, "number", query);
      blind(error.message);
    }
    const [databases] = await client.query("SHOW DATABASES");
    assert(!JSON.stringify(databases).includes("other"), JSON.stringify(databases));
    const [tables] = await client.query("SELECT table_schema, table_name FROM information_schema.tables");
    assert(!/other|only/.test(JSON.stringify(tables)), JSON.stringify(tables));
    const [rows] = await client.query("SELECT DISTINCT title FROM c");
    assert.deepEqual(JSON.stringify(rows), '[{"title":"mine"}]');
  } finally {
    await client.end();
  }
});

test("the console's files and the API's description tell of no namespace", async () => {
  for (const path of ["/", "/console/", "/openapi.json", "/docs", "/.well-known/jwks.json"]) {
    const answer = await as("reader", path);
    blind(answer);
    assert(!/"(own|other)"/.test(answer.text), path);
  }
});
