/**
 * Calls the RPC edge from a page in Chromium, with Connect and gRPC-Web, across origins.
 *
 *   npm run test:browser [-- path of chromium]     default: CHROMIUM, then /usr/bin/chromium; it is not installed
 *
 * The page loads the client libraries and the generated code as they are: an import map stands for a bundler.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { ask } from "../test/support/http.ts";
import { ServerProcess } from "../test/support/process.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = "/node_modules";
const servedFolders = [`${modules}/@bufbuild/protobuf/dist/`, `${modules}/@connectrpc/`, "/src/gen/"];

const importMap = {
  imports: {
    "@bufbuild/protobuf": `${modules}/@bufbuild/protobuf/dist/esm/index.js`,
    "@bufbuild/protobuf/codegenv2": `${modules}/@bufbuild/protobuf/dist/esm/codegenv2/index.js`,
    "@bufbuild/protobuf/wire": `${modules}/@bufbuild/protobuf/dist/esm/wire/index.js`,
    "@bufbuild/protobuf/wkt": `${modules}/@bufbuild/protobuf/dist/esm/wkt/index.js`,
    "@connectrpc/connect": `${modules}/@connectrpc/connect/dist/esm/index.js`,
    "@connectrpc/connect/protocol": `${modules}/@connectrpc/connect/dist/esm/protocol/index.js`,
    "@connectrpc/connect/protocol-connect": `${modules}/@connectrpc/connect/dist/esm/protocol-connect/index.js`,
    "@connectrpc/connect/protocol-grpc": `${modules}/@connectrpc/connect/dist/esm/protocol-grpc/index.js`,
    "@connectrpc/connect/protocol-grpc-web": `${modules}/@connectrpc/connect/dist/esm/protocol-grpc-web/index.js`,
    "@connectrpc/connect-web": `${modules}/@connectrpc/connect-web/dist/esm/index.js`,
  },
};

/** Runs in the page: every protocol and format, unary, failing and streaming. */
const pageScript = `
import { createClient, ConnectError } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { Health } from "/src/gen/grpc/health/v1/health_pb.ts";
import { NamespaceService } from "/src/gen/service/collection/v1/namespace_pb.ts";
import { ErrorInfoSchema } from "/src/gen/service/errors/v1/errors_pb.ts";
import { InstanceService } from "/src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "/src/gen/service/live/v1/live_pb.ts";

async function reasonOf(call) {
  try {
    await call();
    return "no error";
  } catch (error) {
    return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? String(error);
  }
}

window.callAll = async (baseUrl) => {
  const results = {};
  for (const [name, createTransport] of [["connect", createConnectTransport], ["grpc-web", createGrpcWebTransport]]) {
    for (const useBinaryFormat of [false, true]) {
      const transport = createTransport({ baseUrl, useBinaryFormat });
      const { instanceId } = await createClient(InstanceService, transport).getInstance({});
      const stop = new AbortController();
      let status;
      for await (const reply of createClient(Health, transport).watch({}, { signal: stop.signal })) {
        status = reply.status;
        break;
      }
      stop.abort();
      results[name + (useBinaryFormat ? " binary" : " json")] = {
        instanceId,
        status,
        bad: await reasonOf(() => createClient(NamespaceService, transport).createNamespace({ name: "?" })),
        absent: await reasonOf(() => createClient(LiveService, transport).query({})),
        absentStream: await reasonOf(async () => {
          for await (const _ of createClient(LiveService, transport).watch({}));
        }),
      };
    }
  }
  return results;
};

window.tryCall = async (baseUrl) => {
  try {
    await createClient(InstanceService, createConnectTransport({ baseUrl })).getInstance({});
    return "answered";
  } catch {
    return "refused";
  }
};
window.loaded = true;
`;

const page = `<!doctype html><title>RPC</title>
<script type="importmap">${JSON.stringify(importMap)}</script>
<script type="module">${pageScript}</script>`;

function startPageServer(): Server {
  return createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    if (path === "/") {
      response.writeHead(200, { "content-type": "text/html" }).end(page);
    } else if (servedFolders.some((folder) => path.startsWith(folder)) && existsSync(join(root, path))) {
      const text = readFileSync(join(root, path), "utf8");
      const script = path.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
      response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    } else {
      response.writeHead(404).end();
    }
  });
}

/** Opens an address in a tab of its own and returns what it shows. */
async function textAt(browser: Browser, url: string): Promise<string> {
  const tab = await browser.newPage();
  await tab.goto(url);
  const text = await tab.evaluate("document.body.innerText");
  await tab.close();
  return String(text);
}

async function callFrom(browser: Browser, pageUrl: string, expression: string): Promise<unknown> {
  const tab = await browser.newPage();
  tab.on("pageerror", (error) => console.error(error));
  await tab.goto(pageUrl);
  await tab.waitForFunction("window.loaded === true");
  const result = await tab.evaluate(expression);
  await tab.close();
  return result;
}

const executablePath = process.argv[2] ?? process.env["CHROMIUM"] ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) {
  console.error(`no Chromium at ${executablePath}: install the package chromium, or name its path`);
  process.exit(1);
}

const pages = startPageServer();
await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
await using server = await ServerProcess.start({ env: { SERVICE_CORS_ORIGINS: origin } });
await using closed = await ServerProcess.start();
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--host-resolver-rules=MAP rebound.example 127.0.0.1"],
});
try {
  const results = await callFrom(browser, origin, `window.callAll(${JSON.stringify(server.url)})`);
  const known = await ask(`${server.url}/service.instance.v1.InstanceService/GetInstance`, { body: {} });
  const want = {
    instanceId: (known.json as { instanceId: string }).instanceId,
    status: 1,
    bad: "invalid_argument",
    absent: "feature_not_in_variant",
    absentStream: "feature_not_in_variant",
  };
  const kinds = ["connect json", "connect binary", "grpc-web json", "grpc-web binary"];
  assert.deepEqual(results, Object.fromEntries(kinds.map((kind) => [kind, want])));
  const call = `window.tryCall(${JSON.stringify(closed.url)})`;
  assert.equal(await callFrom(browser, origin, call), "refused", "an origin that is not configured may not call");
  // Without a preflight, as a form would: the browser keeps the answer from the page, and the server must do nothing.
  const sent = `fetch(${JSON.stringify(`${closed.url}/v1/namespaces`)}, {method:"POST",mode:"no-cors",body:'{"name":"sly"}'})`;
  await callFrom(browser, origin, `${sent}.then(() => true)`);
  assert.deepEqual((await ask(`${closed.url}/v1/namespaces`)).json, { namespaces: [] });
  // A name that the page's owner lets resolve to this machine; every such name is loopback to this browser.
  const rebound = await textAt(browser, `http://rebound.example:${new URL(closed.url).port}/v1/namespaces`);
  assert.match(rebound, /permission_denied/);
  console.log(`Chromium ${browser.version()}: passed`);
} finally {
  await browser.close();
  pages.close();
}
