import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, type TestContext, test } from "node:test";
import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { capability } from "../../../src/edge/mysql/capability.ts";
import { mysqlLimits } from "../../../src/edge/mysql/limits.ts";
import { startMysql } from "../../../src/edge/mysql/server.ts";
import { ByteBudget } from "../../../src/edge/wire/byte-budget.ts";
import type { WireLimits } from "../../../src/edge/wire/limits.ts";
import type { WireListener } from "../../../src/edge/wire/listener.ts";
import { devLoopback } from "../../../src/engine/auth/principal.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { limits as engineLimits } from "../../../src/engine/limits.ts";
import { eventually } from "../../listener/harness.ts";
import { startMemoryEngine } from "../../support/memory-engine.ts";
import { errorOf, handshakeResponse, RawClient, usual } from "./raw-client.ts";

const MiB = 1024 * 1024;
const quiet = { info() {}, warn() {}, error() {} };

describe("clients that are rude, slow, broken or too many", () => {
  let engine: Engine;

  before(async () => {
    engine = await startMemoryEngine();
    await engine.metastore.createNamespace("shop");
  });

  after(() => engine.stop());

  async function start(
    t: TestContext,
    limits: Partial<WireLimits> = {},
    bytes = new ByteBudget(engineLimits.heldBytesMax),
  ): Promise<WireListener> {
    const listener = await startMysql({
      listen: { host: "127.0.0.1", port: 0, isDefault: false },
      sql: engine.sql,
      namespaces: {
        list: () => [...engine.metastore.namespaces()],
        has: (name) => engine.metastore.findNamespace(name) !== undefined,
      },
      authenticator: { screen: () => undefined, authenticate: () => devLoopback, prepare() {}, close() {} },
      isOpen: true,
      certificate: () => undefined,
      clock: new NodeClock(),
      bytes,
      keptBytes: new ByteBudget(MiB, bytes),
      log: quiet,
      version: "0.0.0",
      instanceId: "test",
      limits: { sweepIntervalMs: 10, lingerMs: 100, ...limits },
    });
    t.after(() => listener!.close());
    return listener!;
  }

  function client(t: TestContext, { address }: WireListener, options = {}): RawClient {
    const made = new RawClient(address.port, options);
    t.after(() => made.socket.destroy());
    return made;
  }

  async function works(t: TestContext, listener: WireListener): Promise<void> {
    const other = client(t, listener);
    await other.signIn("shop");
    assert.equal((await other.command(0x0e))[0], 0);
    other.socket.destroy();
  }

  for (const [name, bytes, errno] of [
    ["an HTTP request", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 1156],
    ["a packet over its bound", Buffer.from([0xff, 0xff, 0xff, 1]), 1153],
    ["a packet with another number", Buffer.from([1, 0, 0, 7, 0]), 1156],
    ["a response of one byte", Buffer.from([1, 0, 0, 1, 0]), 1835],
    ["an old client", Buffer.from([32, 0, 0, 1, ...new Array(32).fill(0)]), 1043],
    ["a wish for TLS where there is none", sslRequest(), 1043],
    ["a user without an end", Buffer.concat([Buffer.from([40, 0, 0, 1]), headOf(usual), Buffer.alloc(8, 65)]), 1835],
    ["attributes over the end", attributes(), 1835],
    ["an unknown database", packet(1, handshakeResponse("nothing")), 1049],
  ] as const) {
    test(`${name} in place of a sign-in is error ${errno}`, async (t) => {
      const listener = await start(t);
      const rude = client(t, listener);
      await rude.read();
      rude.socket.write(bytes);
      assert.equal(errorOf((await rude.read())?.payload)?.errno, errno);
      await rude.ended();
      await works(t, listener);
    });
  }

  for (const [name, sequence, payload, errno] of [
    ["an unknown command", 0, Buffer.from([0x77]), 1047],
    ["an empty command", 0, Buffer.alloc(0), 1835],
    ["a command with another number", 3, Buffer.from([0x0e]), 1156],
    ["a statement that is no UTF-8", 0, Buffer.from([3, 0xff, 0xfe]), 1064],
    ["an execution of nothing", 0, Buffer.from([0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0]), 1243],
    ["an execution that is cut off", 0, Buffer.from([0x17, 9]), 1835],
    ["a fetch of nothing", 0, Buffer.from([0x1c, 9, 0, 0, 0, 1, 0, 0, 0]), 1243],
    ["a reset of nothing", 0, Buffer.from([0x1a, 9, 0, 0, 0]), 1243],
    ["an unknown option", 0, Buffer.from([0x1b, 9, 0]), 1047],
    ["a change to a broken user", 0, Buffer.from([0x11, 65]), 1835],
  ] as const) {
    test(`${name} is error ${errno}`, async (t) => {
      const listener = await start(t);
      const rude = client(t, listener);
      await rude.signIn("shop");
      rude.send(sequence, payload);
      assert.equal(errorOf((await rude.read())?.payload)?.errno, errno);
      // What leaves the stream of packets in doubt ends the connection; anything else does not.
      if ([1156, 1835].includes(errno)) await rude.ended();
      else assert.equal((await rude.command(0x0e))[0], 0);
      await works(t, listener);
    });
  }

  test("a command over max_allowed_packet is refused before it is received", async (t) => {
    const listener = await start(t);
    const rude = client(t, listener);
    await rude.signIn();
    const part = Buffer.alloc(4 + 0xff_ff_ff);
    part.writeUIntLE(0xff_ff_ff, 0, 3);
    part[4] = 3;
    const parts = Math.floor(mysqlLimits.packetBytesMax / 0xff_ff_ff);
    for (let i = 0; i < parts; i++) {
      part[3] = i;
      rude.socket.write(Buffer.from(part));
    }
    rude.socket.write(Buffer.from([0xff, 0xff, 0xff, parts]));
    assert.equal(errorOf((await rude.read())?.payload)?.errno, 1153);
    await rude.ended();
    await works(t, listener);
  });

  test("commands of all sessions together are bounded by their bytes", async (t) => {
    const bytes = new ByteBudget(4 * MiB);
    const listener = await start(t, {}, bytes);
    const [first, second] = [client(t, listener), client(t, listener)];
    await Promise.all([first.signIn("shop"), second.signIn("shop")]);
    const part = Buffer.concat([Buffer.from([0, 0, 0x30, 0, 3]), Buffer.alloc(3 * MiB - 2, 0x20)]);
    first.socket.write(part);
    await eventually(() => bytes.held >= 3 * MiB);
    second.socket.write(part);
    assert.equal(errorOf((await second.read())?.payload)?.errno, 1226);
    await second.ended();
    await works(t, listener);
    // What a command held is given back with its answer.
    first.socket.write(" ");
    assert.equal(errorOf((await first.read())?.payload)?.errno, 1065);
    const third = client(t, listener);
    await third.signIn("shop");
    third.socket.write(Buffer.concat([part, Buffer.from(" ")]));
    assert.equal(errorOf((await third.read())?.payload)?.errno, 1065);
  });

  test("prepared statements of all sessions together are bounded by their bytes", async (t) => {
    const listener = await start(t);
    const [first, second] = [client(t, listener), client(t, listener)];
    await Promise.all([first.signIn("shop"), second.signIn("shop")]);
    const long = `select /*${"x".repeat(200_000)}*/ 1`;
    const prepare = async (by: RawClient, text: string) => {
      const answer = await by.command(0x16, text);
      if (answer[0] !== 0) return errorOf(answer)?.errno;
      // The definition of its column, and the end of that list.
      await by.read();
      await by.read();
      return answer.readUInt32LE(1);
    };
    assert.deepEqual([await prepare(first, long), await prepare(first, long)], [1, 2]);
    assert.equal(await prepare(second, long), 1461);
    assert.equal(errorOf(await second.command(3, `prepare s from '${long}'`))?.errno, 1461);
    assert.equal(await prepare(second, "select 1"), 1);
    first.send(0, Buffer.from([0x19, 1, 0, 0, 0]));
    assert.equal((await first.command(0x0e))[0], 0);
    assert.equal((await second.command(3, `prepare s from '${long}'`))[0], 0);
    first.socket.destroy();
    for (let made: number | undefined = 1461; made === 1461; ) made = await prepare(second, long);
  });

  test("what a session keeps and what its variables make is bounded, before it is made", async (t) => {
    const listener = await start(t);
    const rude = client(t, listener);
    await rude.signIn("shop");
    const errno = async (text: string) => errorOf(await rude.command(0x03, text))?.errno;
    const grown = `REPLACE(REPLACE('${"x".repeat(5_000)}','x','${"y".repeat(100_000)}'),'z','w')`;
    assert.equal(await errno(`SET @a = CONCAT(${Array(12).fill(grown).join()})`), 1292);
    assert.equal(await errno(`SET sql_mode = '${",".repeat(20_000)}'`), 1292);
    for (let i = 0; i < 6; i++) assert.equal(await errno(`SET @a${i} = '${"y".repeat(9_900)}'`), undefined);
    assert.equal(await errno(`SET @a6 = '${"y".repeat(9_900)}'`), 1226);
    assert.equal(await errno(`SET @a5 = ''`), undefined);
    assert.equal(await errno(`select ${Array(20_000).fill("@a0").join()}`), 1292);
    const many = Buffer.concat([Buffer.from("t\0"), Buffer.alloc(100_000, "%")]);
    assert.equal(errorOf(await rude.command(0x04, many.toString("latin1")))?.errno, 1835);
    await works(t, listener);
  });

  test("random bytes harm nobody", async (t) => {
    const listener = await start(t, { handshakeTimeoutMs: 50, messageTimeoutMs: 50 });
    let seed = 42;
    const random = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed;
    };
    for (let i = 0; i < 60; i++) {
      const rude = client(t, listener);
      if (i % 2 === 0) await rude.read();
      else await rude.signIn();
      rude.socket.write(Buffer.from(Array.from({ length: random() % 300 }, () => random() % 256)));
      rude.socket.end();
    }
    await eventually(() => listener.connections === 0);
    await works(t, listener);
  });

  test("random payloads of every command harm nobody", async (t) => {
    const listener = await start(t);
    let rude = client(t, listener);
    await rude.signIn("shop");
    let seed = 7;
    const random = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed >> 8;
    };
    for (let i = 0; i < 300; i++) {
      const code = random() % 0x20;
      const payload = Buffer.from([code, ...Array.from({ length: random() % 40 }, () => random() % 256)]);
      rude.send(0, payload);
      // These have no answer.
      if (code === 0x18 || code === 0x19) continue;
      if (code === 0x01) await rude.ended();
      else await rude.read();
      if (code !== 0x01 && code !== 0x11 && !rude.closed && (await alive(rude))) continue;
      rude.socket.destroy();
      rude = client(t, listener);
      await rude.signIn("shop");
    }
    await works(t, listener);
  });

  test("500 connections are served at once, and one more is told that there are too many", async (t) => {
    const listener = await start(t);
    const clients = Array.from({ length: mysqlLimits.connectionsMax }, () => client(t, listener));
    await Promise.all(clients.map((each) => each.signIn("shop")));
    const refusedOne = client(t, listener);
    assert.equal(errorOf((await refusedOne.read())?.payload)?.errno, 1040);
    await refusedOne.ended();
    const answers = await Promise.all(clients.map((each) => each.command(0x0e)));
    assert.ok(answers.every((answer) => answer[0] === 0));
    clients[0]!.socket.destroy();
    await eventually(() => listener.connections === mysqlLimits.connectionsMax - 1);
    await works(t, listener);
  });

  test("who does not sign in in time, or idles too long, is let go", async (t) => {
    const listener = await start(t, { handshakeTimeoutMs: 100, idleTimeoutMs: 200 });
    const silent = client(t, listener);
    await silent.read();
    await silent.ended();
    const idle = client(t, listener);
    await idle.signIn();
    assert.equal(errorOf((await idle.read())?.payload)?.errno, 4031);
    await idle.ended();
  });

  test("prepared statements are bounded", async (t) => {
    const session = client(t, await start(t));
    await session.signIn("shop");
    for (let i = 0; i < mysqlLimits.statementsMax; i++) {
      assert.equal((await session.command(0x16, "SET @a = 1"))[0], 0);
    }
    assert.equal(errorOf(await session.command(0x16, "SET @a = 1"))?.errno, 1461);
    session.send(0, "\x19\x01\0\0\0");
    assert.equal((await session.command(0x16, "SET @a = 1"))[0], 0);
  });

  test("a client that closes its half is let go", async (t) => {
    const listener = await start(t);
    const half = client(t, listener, { allowHalfOpen: true });
    await half.signIn("shop");
    half.socket.end();
    await half.ended();
    await eventually(() => listener.connections === 0);
  });

  test("a drain tells the ones that wait, and the ones that come", async (t) => {
    const listener = await start(t);
    const idle = client(t, listener);
    await idle.signIn("shop");
    const drained = listener.drain(30_000);
    assert.equal(errorOf((await idle.read())?.payload)?.errno, 1053);
    await Promise.all([idle.ended(), drained]);
  });

  test("a client without any of the newer ways is served too", async (t) => {
    const listener = await start(t);
    const old = client(t, listener);
    await old.signIn("", capability.protocol41 | capability.secureConnection);
    assert.deepEqual([...(await old.command(3, "SELECT 1"))], [1]);
    const kinds: number[] = [];
    for (let i = 0; i < 4; i++) kinds.push((await old.read())!.payload[0]!);
    // A column, the end of the columns, a row, and the end of the rows.
    assert.deepEqual(kinds, [3, 0xfe, 1, 0xfe]);
  });
});

async function alive(rude: RawClient): Promise<boolean> {
  rude.send(0, Buffer.from([0x0e]));
  for (;;) {
    const answer = await Promise.race([rude.read(), once(rude.socket, "close").then(() => undefined)]);
    if (answer === undefined) return false;
    // What an earlier answer had more of comes first.
    if (answer.sequence === 1 && answer.payload[0] === 0) return true;
  }
}

function packet(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, payload]);
}

function headOf(capabilities: number): Buffer {
  const head = Buffer.alloc(32);
  head.writeUInt32LE(capabilities >>> 0, 0);
  return head;
}

function sslRequest(): Buffer {
  return packet(1, headOf(usual | capability.ssl));
}

function attributes(): Buffer {
  const response = handshakeResponse("", usual | capability.connectAttributes);
  return packet(1, Buffer.concat([response, Buffer.from([0xfd, 0xff, 0xff, 0])]));
}
