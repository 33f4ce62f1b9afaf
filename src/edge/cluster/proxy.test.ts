import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, connect as connectSocket, createServer as createNet, type Server } from "node:net";
import { after, before, test } from "node:test";
import { ClusterFront, type ClusterView } from "./front.ts";
import { OwnerProxy } from "./proxy.ts";

/** An owner that is asked and does as each test says, and a node before it. */
let owner: Http2Server;
let ownerAddress: string;
let front: ClusterFront;
let proxy: OwnerProxy;
let node: Http2Server;
let client: ClientHttp2Session;
let onStream: (stream: import("node:http2").ServerHttp2Stream, session: ServerHttp2Session) => void;
let isOwner = true;

const view: ClusterView = {
  mayAnswer: false,
  get ownerAddress() {
    return isOwner ? ownerAddress : undefined;
  },
  isFresh: true,
  status: {},
};

async function listen(server: Server | Http2Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

before(async () => {
  owner = createHttp2();
  owner.on("stream", (stream) => {
    stream.on("error", () => undefined);
    onStream(stream, stream.session as ServerHttp2Session);
  });
  owner.on("sessionError", () => undefined);
  ownerAddress = `127.0.0.1:${await listen(owner)}`;
  proxy = new OwnerProxy({ node: "n1", owner: () => view.ownerAddress });
  front = new ClusterFront(view, proxy);
  node = createHttp2();
  node.on("request", front.handleMain);
  client = connect(`http://127.0.0.1:${await listen(node)}`);
});
after(() => {
  client.destroy();
  proxy.close();
  owner.close();
  node.close();
});

function ask() {
  const stream = client.request({ ":path": "/v1/namespaces" });
  const said = new Promise<{ status?: number; text: string; error?: Error }>((resolve) => {
    let status: number | undefined;
    let text = "";
    const done = (error?: Error) => resolve({ ...(status && { status }), text, ...(error && { error }) });
    stream.on("response", (headers) => {
      status = headers[":status"];
    });
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      text += chunk;
    });
    stream.on("error", done);
    stream.on("close", () => done());
  });
  stream.end();
  return said;
}

test("an owner that dies before it answers is told of", async () => {
  onStream = (_, session) => session.destroy();
  const { status, text } = await ask();
  assert.equal(status, 503);
  assert.match(text, /can't be reached/);
});

test("an answer that breaks off does not look whole", async () => {
  onStream = (stream, session) => {
    stream.respond({ ":status": 200 });
    stream.write("half", () => setTimeout(() => session.destroy(), 50));
  };
  const { status, text, error } = await ask();
  assert.equal(status, 200);
  assert.equal(text, "half");
  assert.ok(error, "the stream ends with an error");
});

test("an answer that is whole is passed on whole", async () => {
  onStream = (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("all of it");
  };
  assert.deepEqual(await ask(), { status: 200, text: "all of it" });
});

test("who waits for a node that is no longer the owner is told so", async () => {
  onStream = () => undefined;
  const said = ask();
  setTimeout(() => {
    isOwner = false;
  }, 50);
  const { status } = await said;
  isOwner = true;
  assert.equal(status, 503);
});

test("a wire that the owner does not take ends without a byte", async () => {
  onStream = (stream) => {
    stream.respond({ ":status": 503 });
    stream.end('{"error":"unavailable"}');
  };
  const entry = createNet((socket) => front.takeWire("postgres", socket));
  const socket = connectSocket(await listen(entry), "127.0.0.1");
  let bytes = 0;
  socket.on("data", (chunk) => {
    bytes += chunk.length;
  });
  socket.on("error", () => undefined);
  await once(socket, "close");
  entry.close();
  assert.equal(bytes, 0);
});

test("the owner's own wire knows where a client is that came through another socket", async () => {
  const inner = createNet();
  const port = await listen(inner);
  const own = new ClusterFront({ ...view, mayAnswer: true }, proxy);
  own.mounted = {
    main: undefined as never,
    live: undefined,
    mysql: undefined,
    postgres: { host: "127.0.0.1", port },
  };
  const http = createHttp2();
  http.on("request", own.handleMain);
  const session = connect(`http://127.0.0.1:${await listen(http)}`);
  const piped = session.request({
    ":method": "POST",
    ":path": "/.cluster/pipe/postgres",
    "service-forwarded-by": "n2",
    "service-forwarded-for": "192.0.2.7",
  });
  piped.write("hello");
  const [socket] = await once(inner, "connection");
  await once(socket, "data");
  assert.equal(own.wirePeers.addressOf(socket.remotePort), "192.0.2.7");
  piped.close();
  await once(socket, "close");
  session.destroy();
  http.close();
  inner.close();
});

test("over HTTP/1 an owner that dies is told of, too", async () => {
  const dead = createServer((request: IncomingMessage, _response: ServerResponse) => request.socket.destroy());
  const address = `127.0.0.1:${await listen(dead)}`;
  const ends = new OwnerProxy({ node: "n1", owner: () => address });
  const before = createServer((request, response) => ends.forward(address, request, response));
  const answer = await fetch(`http://127.0.0.1:${await listen(before)}/v1/namespaces`);
  assert.equal(answer.status, 503);
  await answer.text();
  ends.close();
  before.closeAllConnections();
  before.close();
  dead.close();
});
