import { parseDuration } from "../config-values.ts";
import { keyJson } from "../edge/rest/key-json.ts";
import type { ApiKeyInfo, ApiKeys } from "../engine/auth/keys.ts";
import { isRole } from "../engine/auth/principal.ts";
import { invalid } from "../engine/errors.ts";
import { type CommandOutput, parseOptions, runCommand, UsageError } from "./command.ts";

export const keysUsage = `usage: native-engine keys create --name NAME --role admin|writer|reader [--namespace NAMESPACE] [--expires 90d] [--json]
       native-engine keys list [--json]
       native-engine keys revoke [--name] NAME [--json]

API keys, in the data directory (--data-dir FOLDER, SERVICE_DATA_DIR; ./data), whether or not a server runs on it. A key is shown once,
when it is made. A reader reads, a writer also writes data, an admin also creates and drops; with --namespace there alone.
The server asks for keys where SERVICE_AUTH_MODE includes apikey.
`;

/** `native-engine keys …`; `argv` is what follows `keys`. Resolves to the exit code. */
export async function runKeys(argv: readonly string[], io: CommandOutput, keys: ApiKeys): Promise<number> {
  const [command, ...rest] = argv;
  return await runCommand("keys", keysUsage, io, async () => {
    switch (command) {
      case "create":
        return await create(rest, io, keys);
      case "list":
        return list(rest, io, keys);
      case "revoke":
        return await revoke(rest, io, keys);
      case "help":
      case "--help":
        io.stdout.write(keysUsage);
        return;
      default:
        throw new UsageError(command === undefined ? "a command is missing" : "this command is not known");
    }
  });
}

async function create(argv: readonly string[], io: CommandOutput, keys: ApiKeys): Promise<void> {
  const { values } = parseOptions(argv, [], ["name", "role", "namespace", "expires"]);
  const { name, role, namespace, expires } = values;
  if (name === undefined) throw new UsageError("--name is missing");
  if (role === undefined) throw new UsageError("--role is missing");
  if (!isRole(role)) throw invalid("--role", "must be admin, writer or reader");
  const { info, key } = await keys.create({
    name,
    role,
    ...(namespace === undefined ? {} : { namespace }),
    ...(expires === undefined ? {} : { lifetimeMs: parseDuration(expires, "expires") }),
  });
  if (values.json) {
    io.stdout.write(`${JSON.stringify({ ...keyJson(info), key })}\n`);
    return;
  }
  // The key alone goes to standard output, so that it can be piped into a secret store.
  io.stderr.write(`Created the key ${info.name} (${describe(info)}). It is shown only now:\n`);
  io.stdout.write(`${key}\n`);
}

function list(argv: readonly string[], io: CommandOutput, keys: ApiKeys): void {
  const { values } = parseOptions(argv, [], []);
  const all = keys.list();
  if (values.json) {
    io.stdout.write(`${JSON.stringify({ keys: all.map(keyJson) })}\n`);
    return;
  }
  if (all.length === 0) {
    io.stdout.write("There are no keys.\n");
    return;
  }
  const rows = all.map((key) => [
    key.name,
    key.role,
    key.namespace ?? "all",
    key.status,
    day(key.createdMs),
    key.expiresMs === undefined ? "never" : day(key.expiresMs),
    key.id,
  ]);
  io.stdout.write(table([["NAME", "ROLE", "NAMESPACE", "STATUS", "CREATED", "EXPIRES", "ID"], ...rows]));
}

async function revoke(argv: readonly string[], io: CommandOutput, keys: ApiKeys): Promise<void> {
  // Named as `create` has it, or alone.
  const isNamed = argv.some((each) => each === "--name" || each.startsWith("--name="));
  const { values, positionals } = parseOptions(argv, isNamed ? [] : ["the name of one key"], ["name"]);
  const info = await keys.revoke(values.name ?? positionals[0]!);
  if (values.json) io.stdout.write(`${JSON.stringify(keyJson(info))}\n`);
  else io.stdout.write(`Revoked the key ${info.name}.\n`);
}

function describe(key: ApiKeyInfo): string {
  const scope = key.namespace === undefined ? "all namespaces" : `namespace ${key.namespace}`;
  return `${key.role}, ${scope}, ${key.expiresMs === undefined ? "no expiry" : `expires ${time(key.expiresMs)}`}`;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function day(ms: number): string {
  return time(ms).slice(0, 10);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return `${rows.map(line).join("\n")}\n`;
}
