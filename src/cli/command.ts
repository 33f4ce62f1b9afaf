import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { EngineError } from "../engine/errors.ts";

export interface CommandOutput {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** A command line that can't be understood, as against a command that failed. */
export class UsageError extends Error {}

/** A command that failed on this side: a file, a checksum, a row. */
export class CommandFailure extends Error {
  readonly reason: string;
  readonly hint: string | undefined;

  constructor(reason: string, message: string, hint?: string) {
    super(message);
    this.reason = reason;
    this.hint = hint;
  }
}

/** Node's words for an option that it does not know, without its advice on how to write odd file names. */
export function optionMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : "the options can't be read";
  const [first = message] = message.split(". To specify a positional");
  return first;
}

const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/** Runs a command and resolves to its exit code; what went wrong is said on standard error. */
export async function runCommand(
  name: string,
  usage: string,
  io: CommandOutput,
  run: () => Promise<void> | void,
): Promise<number> {
  try {
    await run();
    return exitCodes.done;
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`${name}: ${error.message}\n${usage}`);
      return exitCodes.usage;
    }
    if (error instanceof EngineError) {
      io.stderr.write(`${name}: ${error.message}\n`);
      return exitCodes.failed;
    }
    throw error;
  }
}

export interface ParsedOptions<N extends string> {
  readonly values: { readonly [K in N]?: string } & { readonly json?: boolean };
  readonly positionals: readonly string[];
}

/** Options that take a text each, and `--json`. */
export function parseOptions<const N extends string>(
  argv: readonly string[],
  positionalNames: readonly string[],
  names: readonly N[],
): ParsedOptions<N> {
  const options: ParseArgsOptionsConfig = { json: { type: "boolean" } };
  for (const name of names) options[name] = { type: "string" };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(optionMessage(error));
  }
  if (parsed.positionals.length !== positionalNames.length) {
    throw new UsageError(
      positionalNames.length === 0 ? "only options are expected" : `expected ${positionalNames.join(" and ")}`,
    );
  }
  return { values: parsed.values as ParsedOptions<N>["values"], positionals: parsed.positionals };
}
