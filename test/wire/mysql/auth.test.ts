import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { ConnectionOptions } from "mysql2/promise";
import { selfSigned } from "../../listener/certificate.ts";
import { ask } from "../../support/http.ts";
import { runCommand, type ServerProcess, temporaryFolder } from "../../support/process.ts";
import { handshakeResponse, RawClient } from "./raw-client.ts";
import { connectTo, refused, rows, startServer } from "./server.ts";

const pair = selfSigned("mysql");
const admin = "admin-key-0123456789abcdef0123456789abcdef";
const keys = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${admin}` };
const bearer = { authorization: `Bearer ${admin}` };

async function createKey(dataDir: string, ...more: readonly string[]): Promise<string> {
  const made = await runCommand(["keys", "create", "--role", "reader", "--data-dir", dataDir, ...more]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim().split("\n").at(-1)!.trim().split(/\s+/).at(-1)!;
}

describe("signing in with API keys", () => {
  let server: ServerProcess;
  let port: number;
  let folder: string;

  before(async () => {
    folder = await temporaryFolder();
    ({ server, port } = await startServer({ env: keys, dataDir: folder }));
    for (const name of ["shop", "other"]) {
      const made = await ask(`${server.url}/v1/namespaces`, { body: { name }, headers: bearer });
      assert.equal(made.status, 201, made.text);
    }
  });

  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const refuse = async (options: ConnectionOptions) => {
    const { errno, sqlState, message } = await refused(connectTo(port, options));
    return { errno, sqlState, message };
  };

  test("the key travels sealed where there is no TLS", async () => {
    const connection = await connectTo(port, { password: admin });
    assert.deepEqual(await rows(connection, "SELECT DATABASE() AS d"), [{ d: "shop" }]);
    assert.deepEqual(await rows(connection, "SELECT 1 + 1 AS x", []), [{ x: 2 }]);
    await connection.changeUser({ user: "again", password: admin, database: "other" });
    assert.deepEqual(await rows(connection, "SELECT DATABASE() AS d"), [{ d: "other" }]);
    await connection.end();
  });

  test("a client on this machine that gives the key as it is, as mariadb does, is let in", async () => {
    for (const [password, first] of [
      [admin, 0],
      ["wrong", 0xff],
    ] as const) {
      const client = new RawClient(port);
      await client.read();
      const head = handshakeResponse().subarray(0, 32);
      const answer = Buffer.alloc(33, 7);
      answer[0] = 32;
      client.send(1, Buffer.concat([head, Buffer.from("raw\0"), answer, Buffer.from("shop\0caching_sha2_password\0")]));
      assert.deepEqual([...(await client.read())!.payload], [1, 4]);
      client.send(3, `${password}\0`);
      assert.equal((await client.read())!.payload[0], first);
      client.socket.destroy();
    }
  });

  test("a wrong key and none are refused, and so is a database that is not there", async () => {
    assert.deepEqual(await refuse({ password: "wrong" }), {
      errno: 1045,
      sqlState: "28000",
      message: "Access denied for user 'tester'@'127.0.0.1' (using password: YES)",
    });
    assert.equal((await refuse({})).message, "Access denied for user 'tester'@'127.0.0.1' (using password: NO)");
    assert.equal((await refuse({ password: admin, database: "nothing" })).errno, 1049);
  });

  test("a key for one namespace sees no other", async () => {
    const key = await createKey(folder, "--name", "narrow", "--namespace", "shop");
    const connection = await connectTo(port, { password: key });
    assert.deepEqual(await rows(connection, "SHOW DATABASES"), [
      { Database: "information_schema" },
      { Database: "shop" },
    ]);
    for (const sql of ["USE other", "USE nothing", "SELECT * FROM other.docs", "SHOW TABLES FROM other"]) {
      assert.equal((await refused(connection.query(sql))).errno, 1044, sql);
    }
    assert.deepEqual(
      await rows(connection, "SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'other'"),
      [],
    );
    assert.equal((await refuse({ password: key, database: "other" })).errno, 1044);
    await connection.end();
  });

  test("others' sessions are neither seen nor ended by one who is no administrator", async () => {
    const key = await createKey(folder, "--name", "plain");
    const boss = await connectTo(port, { password: admin });
    const plain = await connectTo(port, { password: key });
    assert.equal((await rows(plain, "SHOW PROCESSLIST")).length, 1);
    assert.equal((await refused(plain.query(`KILL ${boss.threadId}`))).errno, 1094);
    assert.ok((await rows(boss, "SHOW PROCESSLIST")).length >= 2);
    const ended = new Promise((resolve) => plain.on("error", resolve));
    await boss.query(`KILL ${plain.threadId}`);
    await ended;
    await boss.end();
  });
});

describe("signing in over TLS", () => {
  let server: ServerProcess;
  let port: number;
  let folder: string;

  before(async () => {
    folder = await temporaryFolder();
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await writeFile(cert, pair.cert);
    await writeFile(key, pair.key);
    const env = { ...keys, SERVICE_TLS_CERT_FILE: cert, SERVICE_TLS_KEY_FILE: key };
    ({ server, port } = await startServer({ env }));
  });

  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const ssl = { ca: pair.cert };
  const none = { database: "" };

  test("the certificate is the main port's, and the key goes as it is", async () => {
    const connection = await connectTo(port, { ...none, password: admin, ssl });
    assert.deepEqual(await rows(connection, "SELECT 1 AS x"), [{ x: 1 }]);
    assert.match(String((await rows(connection, "SHOW STATUS LIKE 'Ssl_cipher'"))[0]!["Value"]), /^TLS_/);
    await connection.end();
    assert.equal((await refused(connectTo(port, { ...none, password: "wrong", ssl }))).errno, 1045);
  });

  test("a long token fits", async () => {
    const { errno } = await refused(connectTo(port, { ...none, password: "t".repeat(4000), ssl }));
    assert.equal(errno, 1045);
  });

  test("a plain connection stays possible, with the key sealed", async () => {
    const connection = await connectTo(port, { ...none, password: admin });
    assert.deepEqual(await rows(connection, "SELECT 1 AS x"), [{ x: 1 }]);
    await connection.end();
  });
});
