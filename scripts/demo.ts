// Loads the articles of demo/ and shows where to search them.
//
//   npm run demo                 starts a server where none runs, and stays until Ctrl-C; SERVICE_URL names the server,
//                                else the settings of `serve` do (SERVICE_LISTEN, SERVICE_DATA_DIR, a configuration file)
//   npm run demo -- --no-open    opens no browser
//   npm run demo -- --once       ends a server that it started as soon as all is shown
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  Client,
  type CollectionSchema,
  type NamespaceClient,
  type Query,
  ServiceError,
  type WriteOp,
} from "../src/client/index.ts";
import { loadConfig } from "../src/composition/config/config.ts";
import { type Address, formatAddress } from "../src/listener/address.ts";
import { commandOf, launchEnv } from "../test/support/process.ts";

const namespaceName = "demo";
const collectionName = "articles";
const batchDocuments = 200;
const startMsMax = 30_000;

interface DemoQuery {
  readonly name: string;
  readonly why: string;
  readonly text?: string;
  readonly vector?: readonly number[];
  readonly filter?: Query["filter"];
}

interface Article {
  readonly id: number;
  readonly source: { readonly title: string; readonly topic: string };
}

function read(name: string): string {
  return readFileSync(new URL(`../demo/${name}`, import.meta.url), "utf8");
}

const config = loadConfig({ argv: [], env: process.env });
const address = await addressOf(config.listen);
const url = process.env["SERVICE_URL"] || `http://${formatAddress(reachable(address))}`;
const apiKey = process.env["SERVICE_API_KEY"] || undefined;
const { values: flags } = parseArgs({ options: { "no-open": { type: "boolean" }, once: { type: "boolean" } } });
const say = (text = "") => process.stdout.write(`${text}\n`);

/** Port 0 asks for any free one; here it must be known before the server has chosen. */
async function addressOf({ host, port }: Address): Promise<Address> {
  if (port !== 0) return { host, port };
  const probe = createServer().listen(0, host);
  await once(probe, "listening");
  const found = (probe.address() as AddressInfo).port;
  probe.close();
  await once(probe, "close");
  return { host, port: found };
}

/** A server on every interface is reached on the loopback one. */
function reachable({ host, port }: Address): Address {
  return { host: host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host, port };
}

/** Whether one of ours answers; another program on the port is told from it. */
async function isServing(client: Client): Promise<boolean> {
  try {
    await client.instance();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.status === 0) return false;
    throw new Error(`${url} answers, but is no native-engine server: ${(error as Error).message}`);
  }
}

async function startServer(client: Client): Promise<ChildProcess> {
  const listen = process.env["SERVICE_URL"] ? new URL(url).host : formatAddress(address);
  const [node, ...args] = commandOf();
  const env = { ...launchEnv, SERVICE_RUN_MODE: "development", SERVICE_LOG_LEVEL: "warn", ...process.env };
  const child = spawn(node, [...args, "serve", "--listen", listen], { stdio: "inherit", env });
  const deadlineMs = performance.now() + startMsMax;
  for (;;) {
    if (child.exitCode !== null) {
      const there = `a server that uses ${config.dataDir} under another address`;
      throw new Error(`no server could be started at ${url}; name ${there} with SERVICE_URL=http://… npm run demo`);
    }
    if (
      await client.ready().then(
        () => true,
        () => false,
      )
    )
      return child;
    if (performance.now() > deadlineMs) {
      child.kill("SIGTERM");
      throw new Error("the server did not become ready");
    }
    await sleep(100);
  }
}

/** The server that was started for it; undefined where one runs. */
async function serving(): Promise<ChildProcess | undefined> {
  return (await isServing(client)) ? undefined : await startServer(client);
}

async function unlessThere(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "already_exists") return false;
    throw error;
  }
}

/** The same documents again are no change, so that it can be run as often as one likes. */
async function load(client: Client, articles: readonly Article[]): Promise<NamespaceClient> {
  await unlessThere(() => client.createNamespace(namespaceName));
  const ns = client.namespace(namespaceName);
  await ns.createCollection(collectionName, JSON.parse(read("schema.json")) as CollectionSchema);
  const collection = ns.collection(collectionName);
  for (let at = 0; at < articles.length; at += batchDocuments) {
    await collection.write(articles.slice(at, at + batchDocuments).map((upsert) => ({ upsert }) as unknown as WriteOp));
  }
  // Something that moves, for the pages of streams and links.
  if (await unlessThere(() => ns.createStream({ name: "reads", partitions: 2 }))) {
    await ns.createLink({ name: "reads-by-topic", source: "reads", options: { amount: "one" } });
    await ns.stream("reads").appendByKey(
      articles.map(({ id, source }) => ({
        key: source.topic,
        value: JSON.stringify({ article: id, title: source.title }),
      })),
    );
  }
  return ns;
}

function bodyOf({ text, vector, filter }: DemoQuery): Query {
  return {
    from: collectionName,
    retrieve: [
      ...(text === undefined ? [] : [{ text: { field: "body", query: text, k: 50 } }]),
      ...(vector === undefined ? [] : [{ vector: { field: "meaning", query: vector, k: 50 } }]),
    ],
    ...(filter === undefined ? {} : { filter }),
    fuse: { method: "rrf" },
    limit: 3,
    select: ["title", "topic"],
  };
}

/** The search workbench keeps its whole state in the address. */
function workbench({ text, vector, filter }: DemoQuery): string {
  const params = new URLSearchParams({
    c: collectionName,
    text_field: "body",
    vector_field: "meaning",
    hl: "body",
    run: "1",
  });
  if (text !== undefined) params.set("text", text);
  if (vector !== undefined) params.set("vector", vector.join(","));
  if (filter !== undefined) params.set("filter", JSON.stringify(filter));
  return `${url}/#/ns/${namespaceName}/search?${params}`;
}

/** Where there is a program for it and somebody to see it; whatever becomes of it. */
function openBrowser(address: string): void {
  if (flags["no-open"] || !process.stdout.isTTY || process.env["CI"] !== undefined) return;
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [address], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

const client = new Client({ url, apiKey, retry: { attemptsMax: 1 } });
const started = await serving().catch((error: Error) => {
  process.stderr.write(`demo: ${error.message}\n`);
  process.exit(1);
});
try {
  say(
    started === undefined
      ? `A server runs at ${url}.`
      : `Started a server at ${url}, with its data in ${config.dataDir}.`,
  );
  const articles = read("articles.jsonl")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Article);
  const ns = await load(new Client({ url, apiKey }), articles);
  say(`The namespace ${namespaceName} has ${await ns.collection(collectionName).count()} articles with vectors.`);
  const queries = JSON.parse(read("queries.json")) as DemoQuery[];
  for (const query of queries) {
    const { rows = [] } = await ns.query(bodyOf(query));
    say(`\n${query.name}: ${query.why}`);
    for (const { title, topic } of rows) say(`  ${title} (${topic})`);
    say(`  ${workbench(query)}`);
  }
  const there = url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  say(
    `\nThe console: ${url}/   On the command line: native-engine query articles -n demo -t 'body:melting ice'${there}`,
  );
  openBrowser(workbench(queries[0]!));
} catch (error) {
  started?.kill("SIGTERM");
  if (!(error instanceof ServiceError)) throw error;
  const isKeyMissing = error.reason === "unauthenticated" || error.reason === "permission_denied";
  const hint = isKeyMissing ? "; give an admin's key with SERVICE_API_KEY" : "";
  process.stderr.write(`demo: ${error.reason}: ${error.message}${hint}\n`);
  process.exit(1);
}
if (started !== undefined && flags.once) started.kill("SIGTERM");
else if (started !== undefined) say("Ctrl-C ends the server.");
if (started !== undefined) {
  // The server hears of it too, and drains.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => started.kill("SIGTERM"));
  const [code] = (await once(started, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}
