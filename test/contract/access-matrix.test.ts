import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { DescMethod, DescMethodStreaming, DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { openAuthStore } from "../../src/composition/auth-store.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import { roles } from "../../src/engine/auth/principal.ts";
import { ErrorInfoSchema } from "../../src/gen/service/errors/v1/errors_pb.ts";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

/**
 * Calls every route and every RPC as everybody, and compares with access-matrix.json. A row holds an outcome for each
 * column: `401` and `403`, or `ok` for whatever else the answer is. Columns are callers: nobody, a key of each role, and
 * a key of each role for one namespace, which calls in its own and in another.
 */

type Outcome = "401" | "403" | "ok";
type Rows = Readonly<Record<string, string>>;

const matrix = JSON.parse(readFileSync(new URL("access-matrix.json", import.meta.url), "utf8")) as {
  readonly columns: readonly string[];
  readonly rest: Rows;
  /** Paths that the API's description does not list. */
  readonly unlisted: Rows;
  readonly rpc: Rows;
};

const ownNamespace = "own";
const otherNamespace = "other";

let server: ServerProcess;
let dataDir: string;
const keys = new Map<string, string>();

before(async () => {
  dataDir = await temporaryFolder();
  const store = openAuthStore(dataDir);
  const made = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
  for (const role of roles) {
    keys.set(role, (await made.create({ name: role, role })).key);
    keys.set(`own ${role}`, (await made.create({ name: `own-${role}`, role, namespaces: [ownNamespace] })).key);
    keys.set(`other ${role}`, keys.get(`own ${role}`)!);
  }
  await store.close();
  server = await ServerProcess.start({
    dataDir,
    flags: ["--mode", "development"],
    env: { SERVICE_AUTH_MODE: "apikey" },
  });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

function outcomes(row: string): string[] {
  return row.replaceAll("|", " ").trim().split(/\s+/);
}

function credential(column: string): Record<string, string> {
  const key = keys.get(column);
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

function namespaceOf(column: string): string {
  return column.startsWith("other") ? otherNamespace : ownNamespace;
}

/** Nothing that a path names exists and every body is empty, so that no call changes anything. */
async function restOutcome(operation: string, column: string): Promise<Outcome> {
  const [method = "", path = ""] = operation.split(" ");
  const filled = path
    .replace("{ns}", namespaceOf(column))
    .replace("{partition}", "0")
    .replace(/\{\w+\}/g, "nothing");
  const hasBody = method !== "GET" && method !== "HEAD" && method !== "DELETE";
  const { status } = await ask(server.url + filled, {
    method,
    headers: credential(column),
    ...(hasBody ? { body: {} } : {}),
  });
  return status === 401 || status === 403 ? (String(status) as Outcome) : "ok";
}

function isFlight({ parent }: DescMethod): boolean {
  return parent.typeName === "arrow.flight.protocol.FlightService";
}

async function call(transport: Transport, method: DescMethod, column: string): Promise<void> {
  const message = "namespace" in method.input.field ? { namespace: namespaceOf(column) } : {};
  // Flight names the namespace beside its messages.
  const headers = { ...credential(column), ...(isFlight(method) ? { namespace: namespaceOf(column) } : {}) };
  if (method.methodKind === "unary") {
    await transport.unary(method as DescMethodUnary, undefined, 10_000, headers, message);
    return;
  }
  const stop = new AbortController();
  const input = createAsyncIterable([message]);
  const reply = await transport.stream(method as DescMethodStreaming, stop.signal, 10_000, headers, input);
  for await (const _ of reply.message) break;
  stop.abort();
}

async function rpcOutcome(transport: Transport, method: DescMethod, column: string): Promise<Outcome> {
  try {
    await call(transport, method, column);
    return "ok";
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    if (error.code === Code.Unauthenticated) return "401";
    if (error.code === Code.PermissionDenied) return "403";
    // A caller's deadline or a broken connection says nothing about access.
    assert.ok(error.code !== Code.DeadlineExceeded && error.code !== Code.Unavailable, error.message);
    // The namespace stands in the message, which nobody reads before the handler has landed. Flight's does not.
    if (isFlight(method)) return "ok";
    assert.notEqual(error.findDetails(ErrorInfoSchema)[0]?.reason, "not_implemented", method.name);
    return "ok";
  }
}

async function allMethods(): Promise<Map<string, DescMethod>> {
  const root = new URL("../../src/gen/", import.meta.url);
  const found = new Map<string, DescMethod>();
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith("_pb.ts")) continue;
    const module = (await import(new URL(file, root).href)) as Record<string, { kind?: string }>;
    for (const each of Object.values(module)) {
      if (each?.kind !== "service") continue;
      const service = each as unknown as DescService;
      for (const method of service.methods) found.set(`${service.typeName}/${method.name}`, method);
    }
  }
  return found;
}

test("the matrix has every route, and no other", async () => {
  const { json } = await ask(`${server.url}/openapi.json`, { headers: credential("admin") });
  const { paths } = json as { paths: Record<string, Record<string, unknown>> };
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(served.filter((each) => !each.startsWith("HEAD ")).sort(), Object.keys(matrix.rest).sort());
});

test("the matrix has every RPC, and no other", async () => {
  assert.deepEqual([...(await allMethods()).keys()].sort(), Object.keys(matrix.rpc).sort());
});

test("every row has an outcome for every caller", () => {
  for (const [name, row] of Object.entries({ ...matrix.rest, ...matrix.unlisted, ...matrix.rpc })) {
    assert.equal(outcomes(row).length, matrix.columns.length, name);
    assert.ok(
      outcomes(row).every((each) => ["401", "403", "ok"].includes(each)),
      name,
    );
  }
});

test("every route, as everybody", async () => {
  for (const [operation, row] of Object.entries({ ...matrix.rest, ...matrix.unlisted })) {
    const got = await Promise.all(matrix.columns.map((column) => restOutcome(operation, column)));
    assert.deepEqual(got, outcomes(row), operation);
    if (!operation.startsWith("GET ")) continue;
    const head = operation.replace("GET", "HEAD");
    assert.deepEqual(await Promise.all(matrix.columns.map((column) => restOutcome(head, column))), outcomes(row), head);
  }
});

test("every RPC, as everybody", async () => {
  const transport = createGrpcTransport({ baseUrl: server.url });
  for (const [path, method] of await allMethods()) {
    const wanted = outcomes(matrix.rpc[path] ?? "");
    const got = await Promise.all(matrix.columns.map((column) => rpcOutcome(transport, method, column)));
    assert.deepEqual(got, wanted, path);
  }
});
