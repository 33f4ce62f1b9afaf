import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { defaultWireAddress, parseWireAddress, type WireAddress } from "./address.ts";
import { ByteBudget } from "./byte-budget.ts";
import { startWire } from "./start.ts";

const taken = createServer();
let port = 0;
before(async () => {
  taken.listen(0, "127.0.0.1");
  await once(taken, "listening");
  port = (taken.address() as AddressInfo).port;
});
after(() => taken.close());

async function start(listen: WireAddress) {
  const warnings: string[] = [];
  const log = { info() {}, warn: (_: object, message: string) => warnings.push(message), error() {} };
  const session = { run: async () => {}, drain() {}, expire() {} };
  const wire = await startWire({
    name: "test",
    setting: "SERVICE_TEST_LISTEN",
    listen,
    log,
    bytes: new ByteBudget(1),
    open: () => session,
  });
  await wire?.close();
  return { wire, warnings };
}

test("a default port that is taken is a warning", async () => {
  const { wire, warnings } = await start(defaultWireAddress(port));
  assert.equal(wire, undefined);
  assert.match(warnings.join(), /SERVICE_TEST_LISTEN/);
});

test("a port that was set and is taken stops the start", async () => {
  await assert.rejects(start(parseWireAddress(`127.0.0.1:${port}`, "x")), /SERVICE_TEST_LISTEN.*EADDRINUSE/);
});

test("off starts nothing, and port 0 takes a free one", async () => {
  assert.equal((await start(parseWireAddress("off", "x"))).wire, undefined);
  const { wire, warnings } = await start(parseWireAddress("127.0.0.1:0", "x"));
  assert.ok(wire !== undefined && wire.address.port > 0);
  assert.deepEqual(warnings, []);
});
