/**
 * Calls Flight SQL with clients of other languages: ADBC of Python and of Go and the JDBC driver, each where it is there.
 *
 *   node scripts/interop/flight.ts [host:port]     without an address, a server is started for the occasion
 *
 * ADBC_PYTHON names a Python with adbc_driver_flightsql and pyarrow; FLIGHT_JDBC_JAR names the file of
 * org.apache.arrow:flight-sql-jdbc-driver; GO_ADBC names a folder whose go.mod requires
 * github.com/apache/arrow-adbc/go/adbc. Nothing is installed.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ServerProcess } from "../../test/support/process.ts";

const run = promisify(execFile);
const callMsMax = 180_000;
const namespace = "flight-interop";

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly failed: boolean;
}

async function attempt(program: string, args: readonly string[], cwd?: string): Promise<Outcome> {
  try {
    const options = { timeout: callMsMax, ...(cwd === undefined ? {} : { cwd }) };
    return { ...(await run(program, args, options)), failed: false };
  } catch (error) {
    const { stdout = "", stderr = String(error) } = error as Partial<Outcome>;
    return { stdout, stderr, failed: true };
  }
}

function beside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function passed({ stdout, stderr, failed }: Outcome): string {
  assert.ok(!failed, stdout + stderr);
  return `passed (${stdout.trim()})`;
}

async function python(target: string): Promise<string> {
  const program = process.env["ADBC_PYTHON"] ?? process.env["PYTHON"] ?? "python3";
  const found = await attempt(program, ["-c", "import adbc_driver_flightsql, pyarrow"]);
  if (found.failed) return "skipped, not installed: name a Python that has adbc_driver_flightsql in ADBC_PYTHON";
  return passed(await attempt(program, [beside("flight.py"), target, namespace]));
}

async function jdbc(target: string): Promise<string> {
  const jar = process.env["FLIGHT_JDBC_JAR"];
  const found = await attempt("java", ["-version"]);
  if (jar === undefined || found.failed) return "skipped: put java on the path and name the driver in FLIGHT_JDBC_JAR";
  const open = "--add-opens=java.base/java.nio=ALL-UNNAMED";
  return passed(await attempt("java", [open, "-cp", jar, beside("flight-jdbc.java"), target, namespace]));
}

async function go(target: string): Promise<string> {
  const folder = process.env["GO_ADBC"];
  if (folder === undefined) return "skipped: name a module that requires it in GO_ADBC";
  return passed(await attempt("go", ["run", "-mod=mod", beside("flight.go"), target, namespace], folder));
}

async function post(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(response.ok || response.status === 409, await response.text());
}

/** What the clients look for. */
export async function fillFlight(target: string): Promise<void> {
  const base = `http://${target}/v1/namespaces`;
  await post(base, { name: namespace });
  const fields = [
    { name: "tag", kind: "keyword" },
    { name: "price", kind: "f64" },
    { name: "made", kind: "date" },
  ];
  const vectors = [{ name: "v", dim: 2, distance: "cosine" }];
  await post(`${base}/${namespace}/collections`, { name: "docs", schema: { fields, vectors } });
  const source = { tag: "a", price: 1.5, made: "2024-02-29T00:00:00Z" };
  const ops = [
    { upsert: { id: 1, source, vectors: { v: [1, 0] } } },
    { upsert: { id: 2, source: { tag: "b" }, vectors: {} } },
  ];
  await post(`${base}/${namespace}/collections/docs/documents`, { ops });
}

/** Each client by its name; what it did, or why it was left out. A surprise is thrown. */
export const flightChecks: Readonly<Record<string, (target: string) => Promise<string>>> = {
  "adbc-python": python,
  "flight-jdbc": jdbc,
  "adbc-go": go,
};

if (import.meta.main) {
  await using server = process.argv[2] === undefined ? await ServerProcess.start() : undefined;
  const target = server === undefined ? process.argv[2]! : new URL(server.url).host;
  await fillFlight(target);
  for (const [name, check] of Object.entries(flightChecks)) console.log(`${name}: ${await check(target)}`);
}
