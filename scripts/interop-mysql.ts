/** Asks the MySQL wire with mariadb and mariadb-dump, where they are installed; MARIADB and MARIADB_DUMP name them. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Where } from "./interop/clients.ts";

const run = promisify(execFile);
const callMsMax = 120_000;

async function isThere(program: string): Promise<boolean> {
  return run(program, ["--version"], { timeout: callMsMax }).then(
    () => true,
    () => false,
  );
}

/** What the client is told to run, and what it shows then. */
const statements: readonly (readonly [statement: string, shows: RegExp])[] = [
  ["SELECT _id, title, sold FROM docs ORDER BY _id", /1\tred apple\t1\n2\tgrüner Apfel\t0\n3\t.*\tNULL/],
  ["SHOW TABLES", /Tables_in_shop\ndocs\nstreams\.events/],
  ["DESCRIBE docs", /_id\tbigint\tNO\tPRI/],
  ["SHOW CREATE TABLE docs", /CREATE TABLE `docs`/],
  ["SELECT COUNT(*) FROM docs", /COUNT\(\*\)\n3/],
  ["SELECT DATABASE(), CONNECTION_ID() > 0 AS c", /shop\t1/],
  ["SHOW FULL PROCESSLIST", /tester/],
  ["SELECT repeat('x', 17000000) AS x", /x{1000}/],
];

function options({ host, port, key }: Where): readonly string[] {
  return ["--protocol=tcp", `--host=${host}`, `--port=${port}`, "--user=tester", `--password=${key}`];
}

async function mariadb(where: Where): Promise<string> {
  const program = process.env["MARIADB"] ?? "mariadb";
  if (!(await isThere(program))) return "skipped, not installed: put it on the path, or name it in MARIADB";
  for (const [statement, shows] of statements) {
    const args = [
      ...options(where),
      `--ssl-ca=${where.authority}`,
      "--ssl-verify-server-cert",
      "--default-character-set=utf8mb4",
      "--max-allowed-packet=64M",
      "--batch",
      "shop",
      "-e",
      statement,
    ];
    const { stdout } = await run(program, args, { timeout: callMsMax, maxBuffer: 64 * 1024 * 1024 });
    assert.match(stdout, shows, statement);
  }
  return `passed (${statements.length} statements)`;
}

async function dump(where: Where): Promise<string> {
  const program = process.env["MARIADB_DUMP"] ?? "mariadb-dump";
  if (!(await isThere(program))) return "skipped, not installed: put it on the path, or name it in MARIADB_DUMP";
  const { stdout, stderr } = await run(program, [...options(where), "shop"], { timeout: callMsMax });
  assert.match(stdout, /INSERT INTO `docs` VALUES\n\(1,'red apple'/);
  assert.match(stdout, /Dump completed/);
  assert.doesNotMatch(stderr, /error/i);
  return "passed";
}

/** Each check by its name; what it did, or why it was left out. A surprise is thrown. */
export const mysqlChecks: Readonly<Record<string, (where: Where) => Promise<string>>> = {
  mariadb,
  "mariadb-dump": dump,
};
