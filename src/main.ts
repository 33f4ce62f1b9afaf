import { loadServerConfig, settingsHelp } from "./config.ts";
import { EngineError } from "./engine/errors.ts";
import { version } from "./version.ts";

const usage = `native-engine ${version}: durable streams, hybrid search and SQL in one process

  native-engine serve [flags]     run the server
  native-engine setup …           first-run setup: the org and its owner; see setup --help
  native-engine keys …            create, list and revoke API keys; see keys --help
  native-engine signing-key …     rotate the key with which the instance signs; see signing-key --help
  native-engine --help            this text
  native-engine --version         the version

Flags of serve (flags win over environment variables, those over the configuration file):
${settingsHelp()}
`;

/** Each command loads its own part of the program: the server's is by far the largest. */
async function run(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  switch (command) {
    case "serve": {
      if (rest.includes("--help")) {
        process.stdout.write(usage);
        return 0;
      }
      const config = loadServerConfig({ argv: rest, env: process.env });
      const { runServe } = await import("./cli/serve.ts");
      return await runServe(config);
    }
    case "setup": {
      const { runSetup } = await import("./cli/setup.ts");
      return await runSetup(rest, process, process.env);
    }
    case "signing-key": {
      const { runSigningKey } = await import("./cli/signing-key.ts");
      return await runSigningKey(rest, process, process.env);
    }
    case "keys": {
      const { runKeysCommand } = await import("./cli/keys-command.ts");
      return await runKeysCommand(rest, process.env);
    }
    case "--version":
      process.stdout.write(`${version}\n`);
      return 0;
    case "--help":
    case "help":
      process.stdout.write(usage);
      return 0;
    default:
      process.stderr.write(`${command === undefined ? "no command given" : `unknown command ${command}`}\n\n${usage}`);
      return 2;
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EngineError)) throw error;
  process.stderr.write(`native-engine: ${error.message}\n`);
  process.exitCode = 2;
}
