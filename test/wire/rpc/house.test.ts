import assert from "node:assert/strict";
import { createServer as createHttp1, type IncomingHttpHeaders, type Server } from "node:http";
import { connect, createServer as createHttp2, type Http2Server } from "node:http2";
import { type AddressInfo, connect as connectSocket, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { served } from "../../../src/edge/rpc/router.ts";
import { devLoopback, type Principal } from "../../../src/engine/auth/principal.ts";
import { CollectionService } from "../../../src/gen/service/collection/v1/collection_pb.ts";
import { infoOfJson, type JsonError, post } from "./clients.ts";
import { startServer } from "./server.ts";

async function listen(t: TestContext, server: Server | Http2Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const path = "/service.house.v1.HouseService/Do";
const secrets = { authorization: "Bearer s3cret", cookie: "sid=s3cret", "x-api-key": "s3cret" };

test("calls reach the front end, streamed and without credentials", async (t) => {
  let seen: IncomingHttpHeaders = {};
  const house = createHttp1((request, response) => {
    seen = request.headers;
    // Answers each chunk as it comes, so that a proxy that collects would never end.
    response.writeHead(200, { "content-type": "application/connect+json", "set-cookie": "a=b", "x-kept": "yes" });
    request.on("data", (chunk: Buffer) => response.write(chunk.toString().toUpperCase()));
    request.on("end", () => response.end("|end"));
  });
  const houseUrl = await listen(t, house);
  await using server = await startServer({ rpc: { houseUrl } });

  const session = connect(server.url);
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/connect+json",
    "x-custom": "kept",
    ...secrets,
  });
  const chunks: string[] = [];
  let replyHeaders: IncomingHttpHeaders = {};
  stream.on("response", (headers) => {
    replyHeaders = headers;
  });
  stream.write("one");
  for await (const chunk of stream.setEncoding("utf8")) {
    chunks.push(chunk as string);
    if (chunks.join("") === "ONE") stream.end("two");
  }
  assert.equal(chunks.join(""), "ONETWO|end");
  assert.equal(replyHeaders["x-kept"], "yes");
  assert.equal(replyHeaders["set-cookie"], undefined);
  assert.equal(seen["x-custom"], "kept");
  assert.doesNotMatch(JSON.stringify(seen), /s3cret/);
  session.close();
});

test("gRPC keeps its trailers", async (t) => {
  let seen: IncomingHttpHeaders = {};
  const house = createHttp2((request, response) => {
    seen = request.headers;
    request.resume();
    response.writeHead(200, { "content-type": "application/grpc" });
    response.write(Buffer.from([0, 0, 0, 0, 0]));
    response.addTrailers({ "grpc-status": "5", "grpc-message": "gone" });
    response.end();
  });
  const houseUrl = await listen(t, house);
  await using server = await startServer({ rpc: { houseUrl } });
  const session = connect(server.url);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", ...secrets });
  const trailers = new Promise<IncomingHttpHeaders>((resolve) => stream.on("trailers", resolve));
  stream.end(Buffer.from([0, 0, 0, 0, 0]));
  stream.resume();
  const { "grpc-status": status, "grpc-message": message } = await trailers;
  assert.deepEqual([status, message], ["5", "gone"]);
  assert.equal(seen["te"], "trailers");
  assert.doesNotMatch(JSON.stringify(seen), /s3cret/);
  session.close();
  await new Promise((resolve) => stream.once("close", resolve));
});

test("a front end that is down, silent or broken is unavailable", async (t) => {
  const silent = createHttp1(() => undefined);
  const broken = createHttp1((request) => request.socket.destroy());
  const gone = createHttp1();
  const [silentUrl, brokenUrl, goneUrl] = [await listen(t, silent), await listen(t, broken), await listen(t, gone)];
  await new Promise((resolve) => gone.close(resolve));
  const table = [
    [silentUrl, { "connect-timeout-ms": "50" }, "deadline_exceeded", 504],
    [brokenUrl, {}, "unavailable", 503],
    [goneUrl, {}, "unavailable", 503],
  ] as const;
  for (const [houseUrl, headers, reason, status] of table) {
    await using server = await startServer({ rpc: { houseUrl } });
    const reply = await post(server.url + path, "{}", headers);
    assert.deepEqual([reply.status, infoOfJson(reply.json as JsonError).reason], [status, reason], houseUrl);
    const grpc = await post(server.url + path, "", { "content-type": "application/grpc", "grpc-timeout": "50m" });
    assert.equal(grpc.status, 200);
    assert.match(grpc.headers.get("grpc-status") ?? "", /^(4|14)$/);
  }
});

test("an answer that breaks off is seen to be broken", async (t) => {
  const house = createHttp1((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{", () => response.destroy());
  });
  await using server = await startServer({ rpc: { houseUrl: await listen(t, house) } });
  await assert.rejects(post(server.url + path, "{}"));
  const session = connect(server.url);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
  stream.end("{}");
  await assert.rejects(Array.fromAsync(stream));
  session.close();
});

test("only methods of the package are forwarded", async (t) => {
  const paths: string[] = [];
  const house = createHttp1((request, response) => {
    paths.push(request.url ?? "");
    response.end("{}");
  });
  const houseUrl = `${await listen(t, house)}/base/`;
  const mine = served(CollectionService, { scan: () => ({ tailRecords: 1n }) });
  await using server = await startServer({ rpc: { houseUrl, services: [mine] } });
  assert.equal((await post(`${server.url + path}?q=1`, "{}")).status, 200);
  const session = connect(server.url);
  for (const sly of ["/service.house.v1/../../admin", "/service.house.v1.HouseService/Do/x", "/service.house.%2e/x"]) {
    const stream = session.request({ ":method": "POST", ":path": sly, "content-type": "application/json" });
    const status = new Promise((resolve) => stream.on("response", (headers) => resolve(headers[":status"])));
    stream.end("{}");
    stream.resume();
    assert.equal(await status, 501, sly);
  }
  session.close();
  await post(`${server.url}/service.collection.v1.CollectionService/Scan`, "{}");
  assert.deepEqual(paths, ["/base/service.house.v1.HouseService/Do"]);
  const { json } = await post(`${server.url}/service.instance.v1.InstanceService/GetInstance`, "{}");
  assert.ok((json as { apiVersions: string[] }).apiVersions.includes("service.house.v1"));
});

test("what stands behind a GET is no request of its own, and no proxy's word on the caller gets through", async (t) => {
  const seen: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  const house = createHttp1((request, response) => {
    seen.push({ url: request.url ?? "", headers: request.headers });
    request.resume();
    request.on("end", () => response.end("{}"));
  });
  const houseUrl = await listen(t, house);
  await using server = await startServer({ rpc: { houseUrl } });
  const smuggled = `GET /service.house.v1.HouseService/Smuggled HTTP/1.1\r\nhost: x\r\n\r\n`;
  const socket = connectSocket(server.port, "127.0.0.1");
  const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`;
  socket.end(`${head}${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`);
  assert.match(await text(socket), /^HTTP\/1\.1 400 /);
  const identity = {
    "x-forwarded-user": "root",
    "x-remote-user": "root",
    "x-auth-request-email": "root",
    forwarded: "for=root",
    "x-actor": "root",
    "x-on-behalf-of": "root",
    "x-client-dn": "root",
    "x-claims": "root",
    "x-caller": "root",
  };
  const reply = await fetch(`${server.url}${path}`, {
    method: "POST",
    body: "{}",
    headers: { ...identity, "x-custom": "kept" },
  });
  assert.equal(reply.status, 200);
  assert.deepEqual(
    seen.map(({ url }) => url),
    [path],
  );
  assert.equal(seen[0]?.headers["x-custom"], "kept");
  assert.doesNotMatch(JSON.stringify(seen[0]?.headers), /root/);
});

test("a reader of one namespace may not call it", async (t) => {
  const houseUrl = await listen(
    t,
    createHttp1((_, response) => void response.end("{}")),
  );
  const authenticate = (): Principal => ({ ...devLoopback, role: "reader", namespaces: ["n"] });
  await using server = await startServer({
    rpc: { houseUrl, authenticator: { screen: () => undefined, authenticate } },
  });
  const reply = await fetch(`${server.url}${path}`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  assert.equal(reply.status, 403);
});
