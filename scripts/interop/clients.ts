/**
 * Real clients of the SQL wires, each a small program that prints a line for each thing that it tries: `connect ok`, or
 * `copy no` with what went wrong. What a client does not print it has not, or is not asked of it. Each is told the key to
 * sign in with in INTEROP_KEY, and in INTEROP_CA the file of the authority that the server's certificate is from.
 */
import { type ExecFileOptions, execFile } from "node:child_process";
import { cp, mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
/** A first build takes minutes. */
const buildMsMax = 1_200_000;
const callMsMax = 240_000;

export const features = [
  "connect",
  "introspect",
  "types",
  "parameters",
  "cursors",
  "copy",
  "cancel",
  "errors",
  "pool",
  "tls",
] as const;
export type Feature = (typeof features)[number];

export interface Where {
  readonly host: string;
  readonly port: number;
  /** An API key, the password of every client. */
  readonly key: string;
  /** The file of the authority that the server's certificate is from. */
  readonly authority: string;
}

export interface ClientRun {
  readonly name: string;
  readonly language: string;
  readonly version: string;
  /** What was tried: undefined is what works, a text what went wrong. */
  readonly tried: ReadonlyMap<Feature, string | undefined>;
  readonly skipped: string | undefined;
  /** It ended with an error. */
  readonly fault?: string;
}

export interface Client {
  readonly name: string;
  readonly language: string;
  /** The program with its arguments; a text tells why it can't be run. */
  command(where: Where): Promise<readonly string[] | string>;
}

const python = process.env["INTEROP_PYTHON"] ?? process.env["PYTHON"] ?? "python3";

async function works(program: string, args: readonly string[], options: ExecFileOptions = {}): Promise<boolean> {
  return run(program, [...args], { timeout: buildMsMax, maxBuffer: 64 * 1024 * 1024, ...options }).then(
    () => true,
    () => false,
  );
}

function pythonClient(name: string, program: string, module: string): Client {
  return {
    name,
    language: "Python",
    async command({ host, port }) {
      if (!(await works(python, ["-c", `import ${module}`])))
        return `${python} has no ${module}: name one in INTEROP_PYTHON`;
      return [python, join(here, program), name, host, String(port)];
    },
  };
}

function nodeClient(name: string): Client {
  return {
    name,
    language: "Node",
    async command({ host, port }) {
      return [process.execPath, join(here, "node-clients.ts"), name, host, String(port)];
    },
  };
}

/** A folder outside of the source in which a program is built, kept for the next run. */
async function buildFolder(name: string): Promise<string> {
  const folder = process.env["INTEROP_BUILD"] ?? join(tmpdir(), "native-engine-interop");
  await mkdir(join(folder, name), { recursive: true });
  await cp(join(here, name), join(folder, name), { recursive: true });
  return join(folder, name);
}

let goProgram: Promise<string | undefined> | undefined;
async function buildGo(): Promise<string | undefined> {
  const cwd = await buildFolder("go");
  if (!(await works("go", ["version"]))) return undefined;
  if (!(await readdir(cwd)).includes("go.mod")) await works("go", ["mod", "init", "interop"], { cwd });
  const isBuilt =
    (await works("go", ["mod", "tidy"], { cwd })) && (await works("go", ["build", "-o", "interop", "."], { cwd }));
  return isBuilt ? join(cwd, "interop") : undefined;
}

function goClient(name: string, url: (where: Where) => string): Client {
  return {
    name,
    language: "Go",
    async command(where) {
      goProgram ??= buildGo();
      const program = await goProgram;
      return program === undefined ? "there is no go, or its modules can't be had" : [program, name, url(where)];
    },
  };
}

let rustProgram: Promise<string | undefined> | undefined;
async function buildRust(): Promise<string | undefined> {
  const cwd = await buildFolder("rust");
  return (await works("cargo", ["build", "--release"], { cwd })) ? join(cwd, "target/release/interop") : undefined;
}

function rustClient(url: (where: Where) => string): Client {
  return {
    name: "sqlx",
    language: "Rust",
    async command(where) {
      rustProgram ??= buildRust();
      const program = await rustProgram;
      return program === undefined ? "there is no cargo, or its crates can't be had" : [program, url(where)];
    },
  };
}

function rubyClient(name: string, library: string): Client {
  return {
    name,
    language: "Ruby",
    async command({ host, port }) {
      if (!(await works("ruby", ["-r", library, "-e", ""]))) return `there is no ruby with ${library}`;
      return ["ruby", join(here, "rails.rb"), library, host, String(port)];
    },
  };
}

/** A JDBC driver: a variable names its jar, or INTEROP_JARS a folder that has it. */
function jdbcClient(
  name: string,
  jar: RegExp,
  variable: string,
  program: string,
  url: (where: Where) => string,
): Client {
  return {
    name,
    language: "Java",
    async command(where) {
      const folder = process.env["INTEROP_JARS"];
      const files = folder === undefined ? [] : await readdir(folder);
      const file = files.find((each) => jar.test(each));
      const path = process.env[variable] ?? (file === undefined ? undefined : join(folder!, file));
      if (path === undefined) return `name its jar in ${variable}, or a folder that has it in INTEROP_JARS`;
      if (!(await works("java", ["-version"]))) return "there is no java on the path";
      return ["java", "-cp", path, join(here, "..", program), url(where)];
    },
  };
}

function postgresUrl({ host, port, key }: Where): string {
  return `postgres://tester:${key}@${host}:${port}/shop?sslmode=disable`;
}

export const postgresClients: readonly Client[] = [
  ...[
    ["psycopg", "psycopg_pool"],
    ["psycopg2", "psycopg2"],
    ["asyncpg", "asyncpg"],
    ["pg8000", "pg8000"],
    ["sqlalchemy", "sqlalchemy"],
    ["django", "django"],
    ["adbc", "adbc_driver_postgresql"],
    ["polars", "polars"],
    ["connectorx", "connectorx"],
    ["pgcli", "pgcli"],
  ].map(([name, module]) => pythonClient(name!, "postgres-clients.py", module!)),
  goClient("pgx", postgresUrl),
  goClient("lib/pq", postgresUrl),
  rustClient(postgresUrl),
  jdbcClient(
    "JDBC",
    /^postgresql-.*jar$/,
    "POSTGRES_JDBC",
    "interop-postgres.java",
    ({ host, port }) => `jdbc:postgresql://${host}:${port}/shop?sslmode=disable`,
  ),
  rubyClient("pg (Ruby)", "pg"),
  rubyClient("Rails (Active Record)", "active_record"),
  nodeClient("pg"),
  nodeClient("postgres"),
];

export const mysqlClients: readonly Client[] = [
  pythonClient("PyMySQL", "mysql-clients.py", "pymysql"),
  pythonClient("mysql-connector-python", "mysql-clients.py", "mysql.connector"),
  pythonClient("mysqlclient", "mysql-clients.py", "MySQLdb"),
  pythonClient("SQLAlchemy", "mysql-clients.py", "sqlalchemy, pymysql"),
  goClient("go-sql-driver", ({ host, port, key }) => `tester:${key}@tcp(${host}:${port})/shop`),
  jdbcClient(
    "Connector/J",
    /^mysql-connector-j-.*jar$/,
    "MYSQL_JDBC",
    "interop-mysql.java",
    ({ host, port }) => `jdbc:mysql://${host}:${port}/shop?allowPublicKeyRetrieval=true&sslMode=DISABLED`,
  ),
  jdbcClient(
    "MariaDB Connector/J",
    /^mariadb-java-client-.*jar$/,
    "MARIADB_JDBC",
    "interop-mysql.java",
    ({ host, port }) => `jdbc:mariadb://${host}:${port}/shop?allowPublicKeyRetrieval=true&sslMode=disable`,
  ),
  rustClient(({ host, port, key }) => `mysql://tester:${key}@${host}:${port}/shop?ssl-mode=DISABLED`),
  rubyClient("mysql2 (Ruby)", "mysql2"),
  nodeClient("mysql2"),
];

export async function ask(client: Client, where: Where): Promise<ClientRun> {
  const { name, language } = client;
  const command = await client.command(where);
  const none = { name, language, version: "", tried: new Map<Feature, string | undefined>() };
  if (typeof command === "string") return { ...none, skipped: command };
  const [program, ...args] = command;
  const ended = { fault: undefined as string | undefined };
  const env = { ...process.env, INTEROP_KEY: where.key, INTEROP_CA: where.authority };
  const { stdout } = await run(program!, args, { timeout: callMsMax, env }).catch((error: unknown) => {
    const { stdout: out = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    ended.fault = (stderr || String(error)).trim().slice(0, 1_000);
    return { stdout: out };
  });
  const version = /^version (?:sqlx |mysql-connector-j-)?(\S+)/m.exec(stdout)?.[1] ?? "";
  const tried = new Map<Feature, string | undefined>();
  for (const feature of features) {
    const [, outcome, why = ""] = new RegExp(`^${feature} (ok|no)(.*)$`, "m").exec(stdout) ?? [];
    if (outcome !== undefined) tried.set(feature, outcome === "ok" ? undefined : why.trim());
  }
  if (tried.size === 0) tried.set("connect", ended.fault ?? "it said nothing");
  return {
    name,
    language,
    version,
    tried,
    skipped: undefined,
    ...(ended.fault === undefined ? {} : { fault: ended.fault }),
  };
}
