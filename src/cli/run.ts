import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { ServiceError } from "../client/index.ts";
import { nearest, nearestOption } from "../composition/config/nearest.ts";
import { EngineError } from "../engine/errors.ts";
import { CommandFailure, UsageError } from "./command.ts";
import { commands } from "./commands.ts";
import { Context, type Streams } from "./context.ts";
import { commandHelp, groupHelp } from "./help.ts";
import { hintOf } from "./hints.ts";
import { Output } from "./output.ts";
import { type CommandSpec, exitCodes, type OptionSpec, optionsOf } from "./spec.ts";

/** Runs a command of the table and resolves to its exit code; undefined where the table has none of that name. */
export async function runTable(
  argv: readonly string[],
  io: Streams,
  env: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  const group = commands.filter(({ path }) => path[0] === argv[0]);
  if (group.length === 0) return undefined;
  const spec = longestMatch(group, argv);
  if (spec === undefined) {
    const words = argv.slice(1).filter((word) => !word.startsWith("-"));
    if (argv.includes("--help") || argv.includes("-h") || words[0] === "help") {
      io.stdout.write(groupHelp(argv[0]!, group));
      return exitCodes.done;
    }
    const meant =
      words.length === 0
        ? undefined
        : nearest(
            words[0]!,
            group.map(({ path }) => path[1] ?? ""),
          );
    const wrong =
      words.length === 0
        ? "a command is missing"
        : `unknown command ${argv[0]} ${words[0]}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
    io.stderr.write(`native-engine: ${wrong}\n\n${groupHelp(argv[0]!, group)}`);
    return exitCodes.usage;
  }
  const json = argv.includes("--json");
  try {
    return await runSpec(spec, argv.slice(spec.path.length), io, env);
  } catch (error) {
    return tellFailure(fileFailure(error) ?? error, spec, io, json);
  }
}

function longestMatch(group: readonly CommandSpec[], argv: readonly string[]): CommandSpec | undefined {
  const fitting = group.filter(({ path }) => path.every((word, i) => argv[i] === word));
  return fitting.sort((a, b) => b.path.length - a.path.length)[0];
}

async function runSpec(
  spec: CommandSpec,
  argv: readonly string[],
  io: Streams,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const options: ParseArgsOptionsConfig = {};
  for (const { name, short, value, multiple } of optionsOf(spec)) {
    options[name] = {
      type: value === undefined ? "boolean" : "string",
      ...(short === undefined ? {} : { short }),
      ...(multiple === true ? { multiple } : {}),
    };
  }
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: withAttached(argv), options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(optionFault(error as Error, optionsOf(spec)));
  }
  const { values, positionals } = parsed;
  if (values["help"] === true) {
    io.stdout.write(commandHelp(spec));
    return exitCodes.done;
  }
  checkCount(spec, positionals);
  const run = await spec.load();
  const stop = new AbortController();
  const onSignal = () => {
    // The second one ends the process at once, as without us.
    if (stop.signal.aborted) process.exit(exitCodes.interrupted);
    stop.abort(new Interrupted());
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  // A reader that leaves, as `head` does, wants no more.
  io.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.done);
    throw error;
  });
  try {
    const out = new Output(io.stdout, io.stderr, values["json"] === true);
    const context = new Context({ args: positionals, values: values as never, io, out, env, signal: stop.signal });
    return (await run(context)) ?? exitCodes.done;
  } catch (error) {
    if (stop.signal.aborted) throw new Interrupted();
    throw error;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** `-n=shop` is `-nshop`, as many programs have it. */
function withAttached(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  return argv.map((each, i) => (end >= 0 && i > end ? each : each.replace(/^-(\w)=/s, "-$1")));
}

/** What is wrong with an option, in place of Node's words for it. */
function optionFault({ message }: Error, options: readonly OptionSpec[]): string {
  const [, token = ""] = /^(?:Unknown option|Option) '(-[^' ,]*)/.exec(message) ?? [];
  if (message.startsWith("Unknown option")) {
    const meant = nearestOption(token, options);
    return `unknown option ${token}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  }
  const option = options.find(({ name, short }) => token === `--${name}` || token === `-${short}`);
  if (option === undefined) return message;
  if (option.value === undefined) return `--${option.name} takes no value`;
  const dashed = message.includes("ambiguous") ? `; one that begins with a dash is given as --${option.name}=…` : "";
  return `--${option.name} needs a value: --${option.name} ${option.value}${dashed}`;
}

class Interrupted extends Error {}

function checkCount(spec: CommandSpec, args: readonly string[]): void {
  const needed = spec.args.filter((name) => !name.startsWith("[")).length;
  const endless = spec.args.at(-1)?.endsWith("…]") ?? false;
  if (args.length >= needed && (endless || args.length <= spec.args.length)) return;
  if (args.length < needed) throw new UsageError(`${spec.args[args.length]} is missing`);
  throw new UsageError(`unexpected argument ${args[spec.args.length]}`);
}

/** A file that can't be opened, read or written is nothing that went wrong in the program. */
function fileFailure(error: unknown): CommandFailure | undefined {
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (path === undefined) return undefined;
  const file = path.replace(/\.partial$/, "");
  switch (code) {
    case "ENOENT":
      return new CommandFailure("not_found", `there is no file or folder ${file}`, "check the path");
    case "EACCES":
    case "EPERM":
      return new CommandFailure("permission_denied", `no permission to use ${file}`, "check its owner and its mode");
    case "EISDIR":
      return new CommandFailure("invalid_argument", `${file} is a folder`, "name a file");
    default:
      return new CommandFailure("failed", message);
  }
}

function tellFailure(thrown: unknown, spec: CommandSpec, io: Streams, json: boolean): number {
  const error = thrown instanceof EngineError ? new CommandFailure(thrown.reason, thrown.message) : thrown;
  if (error instanceof Interrupted) return exitCodes.interrupted;
  if (error instanceof UsageError) {
    const words = `native-engine ${spec.path.join(" ")}`;
    if (json) io.stderr.write(`${JSON.stringify({ error: "usage", message: error.message })}\n`);
    else io.stderr.write(`${words}: ${error.message}\nSee ${words} --help\n`);
    return exitCodes.usage;
  }
  const failure = error instanceof ServiceError ? error : undefined;
  if (failure === undefined && !(error instanceof CommandFailure)) throw error;
  const { message } = error as Error;
  const reason = failure?.reason ?? (error as CommandFailure).reason;
  const hint = failure === undefined ? (error as CommandFailure).hint : hintOf(failure);
  if (json) {
    const { field, requestId } = failure ?? {};
    const report = { error: reason, message, field, hint, request_id: requestId };
    io.stderr.write(`${JSON.stringify(report)}\n`);
  } else {
    io.stderr.write(`native-engine: ${reason}: ${message}\n`);
    if (hint !== undefined) io.stderr.write(`hint: ${hint}\n`);
    if (reason === "internal" && failure?.requestId !== undefined) io.stderr.write(`request: ${failure.requestId}\n`);
  }
  return exitCodeOf(reason);
}

function exitCodeOf(reason: string): number {
  switch (reason) {
    case "unavailable":
    case "resource_exhausted":
    case "deadline_exceeded":
      return exitCodes.unavailable;
    case "unauthenticated":
    case "token_expired":
    case "permission_denied":
      return exitCodes.denied;
    case "not_found":
      return exitCodes.notFound;
    default:
      return exitCodes.failed;
  }
}
