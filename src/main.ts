import { setFlagsFromString } from "node:v8";
import { normalised } from "./cli/words.ts";
import { version } from "./composition/version.ts";
import { EngineError } from "./engine/errors.ts";

/** The text of help: made only when it is shown, since the settings it names bring much of the server along. */
async function usage(of: "all" | "serve"): Promise<string> {
  const [{ settingsHelp }, help] = await Promise.all([
    import("./composition/config/config.ts"),
    import("./cli/help.ts"),
  ]);
  return of === "all" ? help.mainHelp(settingsHelp()) : help.serveHelp(settingsHelp());
}

/** Threads of Node's own pool: files and names must not wait for each other. */
const poolThreads = 8;

/**
 * By how much the heap grows before a major GC. V8's own choice comes to a third of this server's heap, less than its young generation
 * takes: under thousands of small requests a second there was a major GC twice a second, of 30 ms each.
 */
const heapGrowingPercent = 100;

/**
 * An import of `node:http` reads all its properties, and three of them bring Node's WebSocket client along, which nobody here needs:
 * 50 ms of processor time.
 */
function leaveWebSocketClientOut(): void {
  const http: Partial<typeof import("node:http")> = process.getBuiltinModule("node:http");
  for (const name of ["WebSocket", "CloseEvent", "MessageEvent"] as const) delete http[name];
}

/** Each command loads its own part of the program: the server's is by far the largest. */
async function run(given: readonly string[]): Promise<number> {
  const argv = normalised(given);
  const [command, ...rest] = argv;
  switch (command) {
    case "serve": {
      if (rest.includes("--help") || rest.includes("-h")) {
        process.stdout.write(await usage("serve"));
        return 0;
      }
      const { loadServerConfig } = await import("./composition/config/config.ts");
      const config = loadServerConfig({ argv: rest, env: process.env });
      // Before the pool is first used.
      process.env["UV_THREADPOOL_SIZE"] ??= String(poolThreads);
      leaveWebSocketClientOut();
      setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
      const { runServe } = await import("./cli/serve.ts");
      return await runServe(config);
    }
    case "--version":
    case "-V":
    case "version":
      process.stdout.write(`${version}\n`);
      return 0;
    case "--help":
    case "-h":
    case "help":
      if (rest.length > 0 && !rest[0]!.startsWith("-")) return await run([...rest, "--help"]);
      process.stdout.write(await usage("all"));
      return 0;
    default: {
      const { runTable } = await import("./cli/run.ts");
      const code = command === undefined ? undefined : await runTable(argv, process, process.env);
      if (code !== undefined) return code;
      const { shortHelp, unknownCommand } = await import("./cli/help.ts");
      process.stderr.write(command === undefined ? shortHelp : unknownCommand(command));
      return 2;
    }
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EngineError)) throw error;
  process.stderr.write(`native-engine: ${error.message}\n`);
  process.exitCode = 2;
}
