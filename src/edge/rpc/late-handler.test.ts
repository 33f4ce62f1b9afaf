import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { LateRpcHandler } from "./late-handler.ts";
import type { RpcHandler } from "./server.ts";

async function start(t: TestContext) {
  const paths: (string | undefined)[] = [];
  const errors: unknown[] = [];
  const loads: PromiseWithResolvers<RpcHandler>[] = [];
  const handler: RpcHandler = {
    handle(request, response) {
      paths.push(request.url);
      response.end("answer");
    },
    close() {},
  };
  const late = new LateRpcHandler(
    () => {
      const load = Promise.withResolvers<RpcHandler>();
      loads.push(load);
      return load.promise;
    },
    (error) => errors.push(error),
  );
  let requests = 0;
  const came = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    response.once("close", left.resolve);
    late.handle(request, response);
    if (++requests === 2) came.resolve();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    paths,
    errors,
    loads,
    handler,
    came: came.promise,
    left: left.promise,
  };
}

test("calls that come while the edge is loaded wait for it; it is loaded once", async (t) => {
  const { url, loads, handler, came, paths } = await start(t);
  const both = ["/a", "/b"].map(async (path) => (await fetch(url + path)).text());
  await came;
  loads[0]!.resolve(handler);
  assert.deepEqual(await Promise.all(both), ["answer", "answer"]);
  assert.equal(await (await fetch(`${url}/c`)).text(), "answer");
  assert.deepEqual([loads.length, paths.sort()], [1, ["/a", "/b", "/c"]]);
});

test("a caller that leaves meanwhile is not answered", async (t) => {
  const { url, port, loads, handler, came, left, paths } = await start(t);
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /gone HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(socket, "connect");
  const other = fetch(`${url}/stays`);
  await came;
  socket.destroy();
  await left;
  loads[0]!.resolve(handler);
  assert.equal(await (await other).text(), "answer");
  assert.deepEqual(paths, ["/stays"]);
});

test("where it can't be loaded the caller is cut off, and the next one has it tried again", async (t) => {
  const { url, loads, handler, errors } = await start(t);
  const first = fetch(url);
  while (loads.length === 0) await new Promise(setImmediate);
  loads[0]!.reject(new Error("no such file"));
  await assert.rejects(first);
  assert.equal(errors.length, 1);
  const second = fetch(url);
  while (loads.length === 1) await new Promise(setImmediate);
  loads[1]!.resolve(handler);
  assert.equal(await (await second).text(), "answer");
});
