import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "../../src/engine/limits.ts";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

const documents = 200;
const documentBytes = 80_000;
/** Twice what answers may be in memory. */
const readers = Math.ceil((2 * limits.answerBytesMax) / (documents * documentBytes));

test("answers that nobody reads take a bounded room, which is free again once their readers have left", async (t) => {
  const server = await ServerProcess.start();
  t.after(() => server.stop());
  const client = await CollectionClient.create(server.url, "n");
  await client.made("c", { fields: [{ name: "body", kind: "json" }] });
  const body = "x".repeat(documentBytes);
  for (let at = 0; at < documents; at += 100) {
    await client.written(
      "c",
      Array.from({ length: 100 }, (_, i) => ({ upsert: { id: at + i, source: { body } } })),
    );
  }
  const query = JSON.stringify({ from: "c", limit: documents });
  const head = `POST /v1/namespaces/n/query HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${query.length}\r\n\r\n`;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const statuses: string[] = [];
  for (let i = 0; i < readers; i++) {
    const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1" });
    sockets.push(socket);
    socket.write(head + query);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    socket.pause();
    statuses.push(chunk.latin1Slice(9, 12));
    if (chunk.latin1Slice(9, 12) === "503") assert.match(chunk.latin1Slice(), /retry-after: 1/i);
  }
  const taken = statuses.filter((status) => status === "200").length;
  assert.deepEqual([...new Set(statuses)].sort(), ["200", "503"]);
  assert.ok(taken >= 10 && taken * documents * documentBytes <= 1.5 * limits.answerBytesMax, `${taken} of ${readers}`);
  assert.equal(
    (await ask(`${server.url}/v1/namespaces/n/query`, { body: { from: "c", limit: 1, select: [] } })).status,
    200,
  );
  for (const socket of sockets) socket.destroy();
  for (const deadlineMs = performance.now() + 30_000; ; await sleep(50)) {
    const { status } = await ask(`${server.url}/v1/namespaces/n/query`, { body: query });
    if (status === 200) break;
    assert.ok(performance.now() < deadlineMs, "the room is not given back");
  }
});
