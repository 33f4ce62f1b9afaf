/**
 * Asks the SQL wires with clients that npm does not have, each where it is installed.
 *
 *   npm run test:interop-sql [-- NAME…]     the names of checks; without any, all
 *   npm run test:interop-sql -- --record    writes the tables of clients in docs/postgres.md and docs/mysql.md
 *
 * INTEROP_PYTHON names a Python with the clients of scripts/interop/*.py; programs in Go and Rust are built with the
 * packages that go and cargo get, in INTEROP_BUILD or a temporary folder; Ruby's clients are those that it has.
 * Programs that are not on the path are named by PSQL, MARIADB, MARIADB_DUMP, PSYCOPG_PYTHON and ADBC_PYTHON (or PYTHON
 * for both); INTEROP_JARS names a folder with the jars of drivers, or POSTGRES_JDBC, MYSQL_JDBC, MARIADB_JDBC and
 * FLIGHT_JDBC_JAR each of them; GO_ADBC a Go module that requires
 * github.com/apache/arrow-adbc/go/adbc. Nothing is installed. It fails when a client that is there does.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { selfSigned } from "../test/listener/certificate.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { fillShop } from "../test/wire/mysql/server.ts";
import { makeShop } from "../test/wire/postgres/shop.ts";
import { recordTable } from "./interop/client-table.ts";
import { ask, type Client, type ClientRun, mysqlClients, postgresClients, type Where } from "./interop/clients.ts";
import { fillFlight, flightChecks } from "./interop/flight.ts";
import { mysqlChecks } from "./interop-mysql.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const callMsMax = 120_000;

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly failed: boolean;
}

async function attempt(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  try {
    const options = { cwd: root, timeout: callMsMax, env: { ...process.env, ...env } };
    return { ...(await run(program, args, options)), failed: false };
  } catch (error) {
    const { stdout = "", stderr = String(error) } = error as Partial<Outcome>;
    return { stdout, stderr, failed: true };
  }
}

/** What psql asks the catalogs for, and a part of what it shows then. */
const psqlCommands: readonly (readonly [command: string, shows: RegExp])[] = [
  ["\\d", /collections \| items +\| table/],
  ["\\di", /items_pkey \| index/],
  ["\\copy (select 1, 'a') to stdout csv", /^1,a$/m],
  ["\\dt *.*", /streams +\| orders \| table/],
  ["\\dt+", /permanent/],
  ["\\d items", /_id +\| bigint +\| +\| not null[\s\S]*v +\| real\[\]/],
  ["\\d+ items", /_source \| json/],
  ["\\d pg_class", /View "pg_catalog.pg_class"[\s\S]*relname +\| text/],
  ["\\d information_schema.tables", /table_name +\| text/],
  ["\\d streams.orders", /timestamp \| timestamp with time zone/],
  ["\\l", /shop \| engine \| UTF8/],
  ["\\l+", /pg_default/],
  ["\\dn", /links +\| engine/],
  ["\\du", /tester/],
  ["\\conninfo", /database "shop"/],
  ...[
    "\\df",
    "\\df+",
    "\\di",
    "\\dv",
    "\\ds",
    "\\dm",
    "\\dT",
    "\\dT+",
    "\\dp",
    "\\db",
    "\\dx",
    "\\dC",
    "\\do",
    "\\dd",
  ].map((command) => [command, /rows?\)|Did not find|pg_default/] as const),
  ...["\\da", "\\dc", "\\dD", "\\des", "\\dE", "\\dF", "\\dL", "\\dO", "\\dP", "\\dRp", "\\dX", "\\dy", "\\ddp"].map(
    (command) => [command, /rows?\)|Did not find/] as const,
  ),
];

async function psql({ host, port, key }: Where): Promise<string> {
  const program = process.env["PSQL"] ?? "psql";
  const found = await attempt(program, ["--version"]);
  if (found.failed) return "skipped, not installed: put it on the path, or name it in PSQL";
  const env = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: "tester",
    PGPASSWORD: key,
    PGDATABASE: "shop",
    PAGER: "cat",
    LC_ALL: "C.UTF-8",
  };
  const call = (...args: string[]) => attempt(program, ["--no-psqlrc", ...args], env);
  for (const [command, shows] of psqlCommands) {
    const { stdout, stderr } = await call("-c", command);
    assert.doesNotMatch(stderr, /ERROR|FATAL/, `${command}: ${stderr}`);
    assert.match(stdout + stderr, shows, command);
  }
  const rows = await call("-At", "-c", "select title, color from items order by _id");
  assert.equal(rows.stdout, "red shoe|red\nblue hat|blue\nnaïve 🧦|red\n", rows.stderr);
  const fault = await call("-c", "select nope from items");
  assert.match(fault.stderr, /LINE 1: select nope from items\n +\^/);
  const bound = await call("-At", "-v", "FETCH_COUNT=100", "-c", "select sum(i) from range(1000) t(i)");
  assert.equal(bound.stdout, "499500\n", bound.stderr);
  return `passed (${found.stdout.trim()}, ${psqlCommands.length} commands)`;
}

async function psycopg({ host, port, key }: Where): Promise<string> {
  const program = process.env["PSYCOPG_PYTHON"] ?? process.env["PYTHON"] ?? "python3";
  const found = await attempt(program, ["-c", "import psycopg; print(psycopg.__version__)"]);
  if (found.failed)
    return "skipped, not installed: pip install psycopg[binary], and name that Python in PSYCOPG_PYTHON";
  const script = join(root, "scripts", "interop-postgres.py");
  const { stderr, failed } = await attempt(program, [script, host, String(port)], { PGPASSWORD: key });
  assert.ok(!failed, stderr);
  return `passed (${found.stdout.trim()})`;
}

type Check = () => Promise<string>;

interface Wire extends AsyncDisposable {
  readonly checks: Readonly<Record<string, Check>>;
}

/** A server that has been filled, with a certificate of its own and a key that every client must give. */
async function securedServer(fill: (url: string) => Promise<unknown>) {
  const dataDir = await temporaryFolder();
  const { cert, key: privateKey } = selfSigned("interop");
  const key = randomBytes(16).toString("hex");
  const [certificate, keyFile] = [join(dataDir, "interop-cert.pem"), join(dataDir, "interop-key.pem")];
  await Promise.all([writeFile(certificate, cert), writeFile(keyFile, privateKey)]);
  const open = await ServerProcess.start({ dataDir });
  await fill(open.url);
  await open.stop();
  const env = {
    SERVICE_TLS_CERT_FILE: certificate,
    SERVICE_TLS_KEY_FILE: keyFile,
    SERVICE_AUTH_MODE: "apikey",
    SERVICE_API_KEYS: `interop:admin:${key}`,
  };
  const server = await ServerProcess.start({ dataDir, env });
  const close = async () => {
    await server[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { server, access: { key, authority: certificate }, close };
}

const postgresChecks = { psql, "psycopg-formats": psycopg };

async function postgresWire(): Promise<Wire> {
  const { server, access, close } = await securedServer(makeShop);
  const where = { ...server.postgres, ...access };
  const checks = {
    ...bound(postgresChecks, where),
    ...clientChecks(postgresClients, where, runs.postgres),
  };
  return { checks, [Symbol.asyncDispose]: close };
}

async function mysqlWire(): Promise<Wire> {
  const { server, access, close } = await securedServer(fillShop);
  const where = { ...server.mysql, ...access };
  const checks = { ...bound(mysqlChecks, where), ...clientChecks(mysqlClients, where, runs.mysql) };
  return { checks, [Symbol.asyncDispose]: close };
}

async function flightWire(): Promise<Wire> {
  const server = await ServerProcess.start();
  const target = new URL(server.url).host;
  await fillFlight(target);
  return { checks: bound(flightChecks, target), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** What each client of a wire said. */
const runs = { postgres: [] as ClientRun[], mysql: [] as ClientRun[] };

function clientChecks(clients: readonly Client[], where: Where, kept: ClientRun[]): Record<string, Check> {
  const check = async (client: Client) => {
    const told = await ask(client, where);
    kept.push(told);
    if (told.skipped !== undefined) return `skipped: ${told.skipped}`;
    const faults = [...told.tried].filter(([, fault]) => fault !== undefined);
    assert.equal(told.fault, undefined, told.fault);
    assert.equal(faults.length, 0, faults.map(([feature, fault]) => `${feature}: ${fault}`).join("\n"));
    return `passed (${told.version}: ${[...told.tried.keys()].join(", ")})`;
  };
  return Object.fromEntries(clients.map((client) => [client.name, () => check(client)]));
}

function bound<T>(checks: Readonly<Record<string, (where: T) => Promise<string>>>, where: T): Record<string, Check> {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, () => check(where)]));
}

const isRecorded = process.argv.includes("--record");
const asked = process.argv.slice(2).filter((each) => each !== "--record");
if (isRecorded && asked.length > 0) throw new Error("--record writes whole tables: name no check with it");
const wires = [
  { names: [...Object.keys(postgresChecks), ...postgresClients.map(({ name }) => name)], open: postgresWire },
  { names: [...Object.keys(mysqlChecks), ...mysqlClients.map(({ name }) => name)], open: mysqlWire },
  { names: Object.keys(flightChecks), open: flightWire },
];
const unknown = asked.filter((name) => !wires.some(({ names }) => names.includes(name)));
if (unknown.length > 0) throw new Error(`there is no check of the name ${unknown.join(", ")}`);
let failed = 0;
for (const { names, open } of wires) {
  // A server is started only for what is asked of it.
  if (asked.length > 0 && !names.some((name) => asked.includes(name))) continue;
  await using wire = await open();
  for (const [name, check] of Object.entries(wire.checks)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const outcome = await check().catch((error: unknown) => {
      failed++;
      return `FAILED\n${error instanceof Error ? error.message : String(error)}`;
    });
    console.log(`${name}: ${outcome}`);
  }
}
if (isRecorded) {
  await recordTable(join(root, "docs/postgres.md"), runs.postgres);
  await recordTable(join(root, "docs/mysql.md"), runs.mysql);
}
if (failed > 0) process.exitCode = 1;
