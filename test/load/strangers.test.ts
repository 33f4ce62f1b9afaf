import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { after, before, test } from "node:test";
import { MemoryWatch, MiB } from "../fault/memory.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
before(async () => {
  const env = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${"b".repeat(40)}` };
  server = await ServerProcess.start({ env });
});
after(() => server[Symbol.asyncDispose]());

for (const path of [
  "/service.instance.v1.InstanceService/GetInstance",
  "/grpc.health.v1.Health/Check",
  "/arrow.flight.protocol.FlightService/Handshake",
]) {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };

  test(`120 streams of 15 MiB to ${path} are ended and not kept`, async () => {
    const session = connectHttp2(server.url);
    session.on("error", () => {});
    using memory = new MemoryWatch(server);
    // All but the last byte: a server that wants the whole message would wait with what it has.
    const most = Buffer.alloc(15 * MiB - 1);
    most.writeUInt32BE(15 * MiB - 5, 1);
    const streams = Array.from({ length: 120 }, async () => {
      const stream = session.request(headers);
      stream.on("error", () => {});
      stream.resume();
      stream.write(most);
      await once(stream, "close").catch(() => {});
    });
    await Promise.all(streams);
    session.destroy();
    assert.ok(memory.growth < 300 * MiB, `the server grew by ${Math.round(memory.growth / MiB)} MiB`);
    assert.equal((await ask(`${server.url}/health`)).status, 200);
  });
}
