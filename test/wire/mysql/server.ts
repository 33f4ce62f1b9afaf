import assert from "node:assert/strict";
import { type Connection, type ConnectionOptions, createConnection } from "mysql2/promise";
import { eventually } from "../../listener/harness.ts";
import { CollectionClient } from "../../support/collections.ts";
import { ask, base64 } from "../../support/http.ts";
import { ServerProcess, type StartOptions } from "../../support/process.ts";

/** A server with its MySQL wire on a free port. */
export async function startServer(options: StartOptions = {}): Promise<{ server: ServerProcess; port: number }> {
  const env = { SERVICE_MYSQL_LISTEN: "127.0.0.1:0", SERVICE_POSTGRES_LISTEN: "off", ...options.env };
  const server = await ServerProcess.start({ ...options, env });
  let port = 0;
  await eventually(() => {
    port = Number(/"mysql":"127\.0\.0\.1:(\d+)"/.exec(server.logs.join("\n"))?.[1] ?? 0);
    return port !== 0;
  });
  return { server, port };
}

const schema = {
  fields: [
    { name: "title", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "sold", kind: "bool" },
    { name: "at", kind: "date" },
  ],
  vectors: [{ name: "v", dim: 2, distance: "cosine" }],
};

const documents = [
  {
    id: 1,
    source: { title: "red apple", tag: "a", n: 1, price: 1.5, sold: true, at: "2024-02-29T12:34:56.250Z" },
    vectors: { v: [1, 0] },
  },
  { id: 2, source: { title: "grüner Apfel", tag: "b", n: 9_007_199_254_740_991, price: -0.1, sold: false } },
  { id: 3, source: { title: 'it\'s \\ "quoted"' }, vectors: { v: [0, 1] } },
];

/** The namespace `shop` with the collection `docs` and the stream `events`. */
export async function fillShop(url: string): Promise<void> {
  const client = await CollectionClient.create(url, "shop");
  await client.made("docs", schema);
  await client.written(
    "docs",
    documents.map((document) => ({ upsert: document })),
  );
  assert.equal((await ask(`${client.url}/streams`, { body: { name: "events", partitions: 1 } })).status, 201);
  const records = [{ key: base64("k"), value: base64("v"), timestamp_ms: 1_700_000_000_000 }];
  const appended = await ask(`${client.url}/streams/events/partitions/0/records`, { body: { records } });
  assert.equal(appended.status, 200);
}

export function connectTo(port: number, options: ConnectionOptions = {}): Promise<Connection> {
  return createConnection({ host: "127.0.0.1", port, user: "tester", database: "shop", timezone: "Z", ...options });
}

/** The rows of a statement of the text protocol, or of the binary one when it has parameters or is said to. */
export async function rows(
  connection: Connection,
  sql: string,
  params?: readonly (string | number | null | Date | Buffer | boolean | bigint)[],
): Promise<Record<string, unknown>[]> {
  const [found] = params === undefined ? await connection.query(sql) : await connection.execute(sql, [...params]);
  return (found as object[]).map((row) => ({ ...row }));
}

/** A statement that does not end by itself. */
export const endless = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 3";

/** Whether a session has been at `endless` for a second. */
export async function atWork(port: number, id: number): Promise<boolean> {
  const watcher = await connectTo(port);
  const list = await rows(watcher, "SHOW FULL PROCESSLIST");
  await watcher.end();
  return list.some((row) => row["Id"] === id && row["Info"] === endless && Number(row["Time"]) >= 1);
}

/** What a statement is refused with. */
export async function refused(
  running: Promise<unknown>,
): Promise<{ errno: number; sqlState: string; message: string }> {
  try {
    await running;
  } catch (error) {
    const { errno, sqlState, message } = error as { errno: number; sqlState: string; message: string };
    return { errno, sqlState, message };
  }
  assert.fail("the statement was not refused");
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    assert.ok(tries < 1000, "never came true");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
