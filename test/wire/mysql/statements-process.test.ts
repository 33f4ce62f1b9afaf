import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ServerProcess } from "../../support/process.ts";
import { errorOf, signedIn } from "./raw-client.ts";
import { atWork, connectTo, endless, fillShop, refused, rows, startServer, until } from "./server.ts";

describe("statements that are under way", () => {
  let server: ServerProcess;
  let port: number;

  before(async () => {
    ({ server, port } = await startServer());
    await fillShop(server.url);
  });

  after(() => server?.[Symbol.asyncDispose]());

  test("are stopped by KILL QUERY, and their session goes on", async () => {
    const { client, id } = await signedIn(port);
    client.send(0, `\x03${endless}`);
    await until(() => atWork(port, id));
    const other = await connectTo(port);
    await other.query(`KILL QUERY ${id}`);
    assert.equal(errorOf((await client.read())?.payload)?.errno, 1317);
    assert.equal((await client.command(0x0e))[0], 0);
    await other.query(`KILL ${id}`);
    assert.equal(errorOf((await client.read())?.payload)?.errno, 1053);
    client.socket.destroy();
    await other.end();
  });

  test("are stopped after max_execution_time", async () => {
    const session = await connectTo(port);
    await session.query("SET SESSION max_execution_time = 500");
    assert.equal((await refused(session.query(endless))).errno, 3024);
    assert.equal((await refused(session.execute(endless))).errno, 3024);
    await session.query("SET SESSION max_execution_time = 0");
    assert.deepEqual(await rows(session, "SELECT 1 + 1 AS x"), [{ x: 2 }]);
    await session.end();
  });

  test("a cursor gives as many rows as are fetched", async () => {
    const { client } = await signedIn(port);
    assert.equal((await client.command(0x16, "SELECT range AS i FROM range(5000)"))[0], 0);
    // Its column and the end of the columns.
    await client.read();
    await client.read();
    const readOnly = "\x17\x01\0\0\0\x01\x01\0\0\0";
    client.send(0, readOnly);
    await client.read();
    await client.read();
    const opened = (await client.read())!.payload;
    assert.equal(opened.readUInt16LE(3) & 0x40, 0x40);
    let fetched = 0;
    for (const [count, want, last] of [
      [2, 2, false],
      [3000, 3000, false],
      [5000, 1998, true],
    ] as const) {
      const fetch = Buffer.alloc(9);
      fetch[0] = 0x1c;
      fetch.writeUInt32LE(1, 1);
      fetch.writeUInt32LE(count, 5);
      client.send(0, fetch);
      let rowsRead = 0;
      for (;;) {
        const { payload } = (await client.read())!;
        if (payload[0] === 0xfe) {
          assert.equal((payload.readUInt16LE(3) & 0x80) !== 0, last);
          break;
        }
        assert.equal(payload.readBigInt64LE(2), BigInt(fetched + rowsRead));
        rowsRead++;
      }
      assert.equal(rowsRead, want);
      fetched += rowsRead;
    }
    client.send(0, Buffer.from("\x1c\x01\0\0\0\x01\0\0\0", "latin1"));
    assert.equal(errorOf((await client.read())?.payload)?.errno, 1421);
    client.socket.destroy();
  });

  test("commands that drivers seldom send", async () => {
    const { client } = await signedIn(port);
    assert.match((await client.command(0x09)).toString(), /^Uptime: \d+ {2}Threads: \d+/);
    assert.equal((await client.command(0x1f))[0], 0);
    assert.equal((await client.command(0x02, "shop"))[0], 0);
    assert.equal(errorOf(await client.command(0x02, "nothing"))?.errno, 1049);
    assert.equal((await client.command(0x1b, "\0\0"))[0], 0xfe);
    const columns: string[] = [];
    let payload = await client.command(0x04, "docs\0%");
    while (payload[0] !== 0xfe) {
      columns.push(/def.{1}shop.{1}docs.{1}docs.(\w+?)[\x00-\x20]/s.exec(payload.toString("latin1"))![1]!);
      payload = (await client.read())!.payload;
    }
    assert.deepEqual(columns, ["_id", "title", "tag", "n", "price", "sold", "at", "v", "_source"]);
    client.socket.destroy();
  });

  test("long data of a parameter comes in pieces", async () => {
    const { client } = await signedIn(port);
    const prepared = await client.command(0x16, "SELECT length(?) AS l");
    assert.equal(prepared.readUInt16LE(7), 1);
    // The parameter and its end, and, where the column is known already, the same of it.
    for (let i = 0; i < (prepared.readUInt16LE(5) === 0 ? 2 : 4); i++) await client.read();
    for (const piece of ["a".repeat(70_000), "b".repeat(30_000)]) client.send(0, `\x18\x01\0\0\0\0\0${piece}`);
    client.send(0, "\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0");
    for (let i = 0; i < 3; i++) await client.read();
    assert.equal((await client.read())!.payload.readBigInt64LE(2), 100_000n);
    client.socket.destroy();
  });
});
