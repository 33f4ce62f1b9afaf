import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fastify from "fastify";
import { ByteBudget } from "../../wire/byte-budget.ts";
import { registerBodyParser } from "./body.ts";

const KiB = 1024;

async function until(holds: () => boolean): Promise<void> {
  for (const deadlineMs = performance.now() + 20_000; !holds(); await sleep(1)) {
    assert.ok(performance.now() < deadlineMs, "not reached");
  }
}

test("a body that is refused gives its room back before all of it has come", async (t) => {
  const budget = new ByteBudget(256 * KiB);
  const app = fastify();
  app.addHook("onRequest", async (request, reply) => {
    request.response = reply.raw;
  });
  registerBodyParser(app, budget);
  app.post("/", () => "taken");
  await app.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const send = (bytes: number) =>
    httpRequest({ port, method: "POST", headers: { "content-type": "application/json", "content-length": bytes } });
  const large = send(400 * KiB);
  t.after(() => large.destroy());
  large.on("error", () => {});
  large.write(Buffer.alloc(200 * KiB, " "));
  await until(() => budget.held > 0);
  large.write(Buffer.alloc(100 * KiB, " "));
  await until(() => budget.held === 0);
  const small = send(200 * KiB);
  small.end(`"${"x".repeat(200 * KiB - 2)}"`);
  const [taken] = await once(small, "response");
  assert.equal(taken.statusCode, 200);
  large.end(Buffer.alloc(100 * KiB, " "));
  const [refused] = await once(large, "response");
  assert.equal(refused.statusCode, 500, "the framework's own error handler; the edge's makes it 503");
});
