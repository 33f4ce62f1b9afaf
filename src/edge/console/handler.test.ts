import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, createServer as createServer2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { EngineError } from "../../engine/errors.ts";
import { createRequestIds } from "../front/request-id.ts";
import { type ConsoleOptions, createConsole } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "native-engine-test-"));
const script = `console.log("${"x".repeat(2_000)}");`;
const names = { script: "main-ABCDEF12.js", style: "main-12345678.css" } as const;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends the path as it is written, which fetch would tidy up. */
function ask(port: number, path: string, options: { method?: string; headers?: Record<string, string> } = {}) {
  return new Promise<Answer>((resolve, reject) => {
    const sent = httpRequest({ port, host: "127.0.0.1", path, ...options }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
}

async function serve(options: Partial<ConsoleOptions> = {}) {
  const authenticator = { screen: () => undefined };
  const made = createConsole({ folder, authenticator, requestId: createRequestIds(), ...options });
  const server = createServer((request, response) => {
    if (made.handles(request.url ?? "")) made.handle(request, response);
    else response.writeHead(418).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    made,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

let served: Awaited<ReturnType<typeof serve>>;
before(async () => {
  const page = `<script src="/console/${names.script}"></script>`;
  writeFileSync(join(folder, "index.html"), page);
  writeFileSync(join(folder, names.script), script);
  writeFileSync(join(folder, `${names.script}.br`), brotliCompressSync(script));
  writeFileSync(join(folder, `${names.script}.gz`), gzipSync(script));
  writeFileSync(join(folder, names.style), "body{}");
  writeFileSync(join(folder, "notes.txt"), "not for the web");
  served = await serve();
});
after(async () => {
  await served[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("the page has a strict policy and is asked for again each time", async () => {
  const { status, headers, body } = await ask(served.port, "/");
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  assert.match(body.toString(), /main-ABCDEF12/);
  assert.equal(headers["cache-control"], "no-cache");
  const policy = String(headers["content-security-policy"]);
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.ok(headers["x-request-id"]);
});

test("a file with its hash in its name is kept for ever", async () => {
  const { headers } = await ask(served.port, `/console/${names.style}`);
  assert.equal(headers["cache-control"], "public, max-age=31536000, immutable");
  assert.equal(headers["content-type"], "text/css; charset=utf-8");
});

for (const [accept, encoding] of [
  ["br, gzip", "br"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["br;q=0, gzip", "gzip"],
  ["identity", undefined],
  ["", undefined],
] as const) {
  test(`Accept-Encoding ${accept || "absent"} gets ${encoding ?? "plain bytes"}`, async () => {
    const { headers, body } = await ask(served.port, `/console/${names.script}`, {
      headers: accept === "" ? {} : { "accept-encoding": accept },
    });
    assert.equal(headers["content-encoding"], encoding);
    assert.equal(headers.vary, "Accept-Encoding");
    assert.equal(Number(headers["content-length"]), body.length);
    const plain = encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
    assert.equal(plain.toString(), script);
  });
}

test("what the browser has is not sent again, in each of its forms", async () => {
  for (const accept of ["br", "gzip", "identity"]) {
    const headers = { "accept-encoding": accept };
    const first = await ask(served.port, "/", { headers });
    const etag = first.headers.etag ?? "";
    assert.match(etag, /^"[\w-]+"$/);
    const again = await ask(served.port, "/", { headers: { ...headers, "if-none-match": `"other", W/${etag}` } });
    assert.equal(again.status, 304);
    assert.equal(again.body.length, 0);
    assert.equal(again.headers.etag, etag);
    assert.equal((await ask(served.port, "/", { headers: { ...headers, "if-none-match": '"other"' } })).status, 200);
  }
  const forms = await Promise.all(
    ["br", "gzip", "identity"].map((accept) =>
      ask(served.port, `/console/${names.script}`, { headers: { "accept-encoding": accept } }),
    ),
  );
  assert.equal(new Set(forms.map(({ headers }) => headers.etag)).size, 3);
});

for (const path of [
  "/console/",
  "/console/nothing.js",
  "/console/index.html",
  "/console/notes.txt",
  `/console/${names.script}.br`,
  "/console/../package.json",
  "/console/..%2f..%2fpackage.json",
  "/console/%2e%2e/package.json",
  "/console//etc/passwd",
  "/console/..\\package.json",
  "/console/__proto__",
]) {
  test(`${path} is 404`, async () => {
    const { status, body } = await ask(served.port, path);
    assert.equal(status, 404);
    assert.equal((JSON.parse(body.toString()) as { error: string }).error, "not_found");
  });
}

test("HEAD answers as GET does, without the body", async () => {
  const { status, headers, body } = await ask(served.port, "/", { method: "HEAD" });
  assert.equal(status, 200);
  assert.ok(Number(headers["content-length"]) > 0);
  assert.equal(body.length, 0);
});

test("other methods are 405", async () => {
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const { status, headers } = await ask(served.port, "/", { method });
    assert.equal(status, 405, method);
    assert.equal(headers.allow, "GET, HEAD");
  }
});

test("paths of other edges are left to them", () => {
  for (const [target, mine] of [
    ["/", true],
    ["/?code=1&state=2", true],
    ["/console/x.js", true],
    ["/consoles", false],
    ["/v1/namespaces", false],
    ["//", false],
    ["/health", false],
    ["", false],
  ] as const) {
    assert.equal(served.made.handles(target), mine, target);
  }
});

test("without a bundle the page says how to make one, and is found once it is made", async () => {
  const empty = mkdtempSync(join(tmpdir(), "native-engine-test-"));
  await using other = await serve({ folder: join(empty, "") });
  const missing = await ask(other.port, "/");
  assert.equal(missing.status, 503);
  assert.match(missing.body.toString(), /npm run build:console/);
  assert.match(String(missing.headers["content-security-policy"]), /style-src 'sha256-/);
  assert.equal((await ask(other.port, `/console/${names.script}`)).status, 404);
  writeFileSync(join(empty, "index.html"), "made");
  assert.equal((await ask(other.port, "/")).body.toString(), "made");
  rmSync(empty, { recursive: true });
});

test("a caller whom the gate refuses gets no file", async () => {
  const screen = () => new EngineError("permission_denied", "not this name");
  await using other = await serve({ authenticator: { screen } });
  assert.equal((await ask(other.port, "/")).status, 403);
  assert.equal((await ask(other.port, `/console/${names.script}`)).status, 403);
});

test("the identity provider is told to the page, and the policy lets it be asked", async () => {
  const signIn = { issuer: "https://id.example.com/realm", clientId: "console", scope: "openid" };
  await using other = await serve({ signIn });
  const { body, headers } = await ask(other.port, "/console/sign-in.json");
  assert.deepEqual(JSON.parse(body.toString()), signIn);
  assert.equal(headers["cache-control"], "no-cache");
  const policy = String((await ask(other.port, "/")).headers["content-security-policy"]);
  assert.match(policy, /connect-src 'self' https:\/\/id\.example\.com;/);
  assert.deepEqual(JSON.parse((await ask(served.port, "/console/sign-in.json")).body.toString()), {});
});

test("HTTP/2 gets the same", async () => {
  const server = createServer2((request, response) => served.made.handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stream = session.request({ ":path": `/console/${names.script}`, "accept-encoding": "br" });
  const [headers] = (await once(stream, "response")) as [Record<string, string | number>];
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  assert.equal(headers[":status"], 200);
  assert.equal(headers["content-encoding"], "br");
  assert.equal(brotliDecompressSync(Buffer.concat(parts)).toString(), script);
  session.close();
  server.close();
  await once(server, "close");
});
