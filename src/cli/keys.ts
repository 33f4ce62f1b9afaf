import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { parseDuration } from "../config.ts";
import type { ApiKeyInfo, ApiKeys } from "../engine/auth/keys.ts";
import { isRole } from "../engine/auth/principal.ts";
import { EngineError, invalid } from "../engine/errors.ts";

export interface CommandOutput {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

export const keysUsage = `usage: native-engine keys create --name NAME --role admin|writer|reader [--namespace NAMESPACE] [--expires 90d] [--json]
       native-engine keys list [--json]
       native-engine keys revoke NAME [--json]
`;

/** A command line that can't be understood, as against a command that failed. */
class UsageError extends Error {}

const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/** `native-engine keys …`; `argv` is what follows `keys`. Resolves to the exit code. */
export async function runKeys(argv: readonly string[], io: CommandOutput, keys: ApiKeys): Promise<number> {
  const [command, ...rest] = argv;
  try {
    switch (command) {
      case "create":
        await create(rest, io, keys);
        return exitCodes.done;
      case "list":
        list(rest, io, keys);
        return exitCodes.done;
      case "revoke":
        await revoke(rest, io, keys);
        return exitCodes.done;
      case "help":
      case "--help":
        io.stdout.write(keysUsage);
        return exitCodes.done;
      default:
        throw new UsageError(command === undefined ? "a command is missing" : "this command is not known");
    }
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`keys: ${error.message}\n${keysUsage}`);
      return exitCodes.usage;
    }
    if (error instanceof EngineError) {
      io.stderr.write(`keys: ${error.message}\n`);
      return exitCodes.failed;
    }
    throw error;
  }
}

async function create(argv: readonly string[], io: CommandOutput, keys: ApiKeys): Promise<void> {
  const { values } = parse(argv, 0, ["name", "role", "namespace", "expires"]);
  const { name, role, namespace, expires } = values;
  if (name === undefined) throw new UsageError("--name is missing");
  if (role === undefined) throw new UsageError("--role is missing");
  if (!isRole(role)) throw invalid("role", "must be admin, writer or reader");
  const { info, key } = await keys.create({
    name,
    role,
    ...(namespace === undefined ? {} : { namespace }),
    ...(expires === undefined ? {} : { lifetimeMs: parseDuration(expires, "expires") }),
  });
  if (values.json) {
    io.stdout.write(`${JSON.stringify({ ...toJson(info), key })}\n`);
    return;
  }
  // The key alone goes to standard output, so that it can be piped into a secret store.
  io.stderr.write(`Created the key ${info.name} (${describe(info)}). It is shown only now:\n`);
  io.stdout.write(`${key}\n`);
}

function list(argv: readonly string[], io: CommandOutput, keys: ApiKeys): void {
  const { values } = parse(argv, 0, []);
  const all = keys.list();
  if (values.json) {
    io.stdout.write(`${JSON.stringify({ keys: all.map(toJson) })}\n`);
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
  const { values, positionals } = parse(argv, 1, []);
  const info = await keys.revoke(positionals[0]!);
  if (values.json) io.stdout.write(`${JSON.stringify(toJson(info))}\n`);
  else io.stdout.write(`Revoked the key ${info.name}.\n`);
}

function parse<const N extends string>(argv: readonly string[], positionalCount: number, names: readonly N[]) {
  const options: ParseArgsOptionsConfig = { json: { type: "boolean" } };
  for (const name of names) options[name] = { type: "string" };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "the options can't be read");
  }
  if (parsed.positionals.length !== positionalCount) {
    throw new UsageError(positionalCount === 0 ? "only options are expected" : "expected the name of one key");
  }
  return { values: parsed.values as { [K in N]?: string } & { json?: boolean }, positionals: parsed.positionals };
}

function toJson(key: ApiKeyInfo) {
  return {
    name: key.name,
    id: key.id,
    role: key.role,
    namespace: key.namespace ?? null,
    status: key.status,
    created_at: time(key.createdMs),
    expires_at: key.expiresMs === undefined ? null : time(key.expiresMs),
    revoked_at: key.revokedMs === undefined ? null : time(key.revokedMs),
  };
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
