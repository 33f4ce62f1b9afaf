import { loadConfig } from "../config.ts";
import { makeDataFolder } from "../data-folder.ts";

/** The data directory that a command works on, made where it is missing, and the command's own arguments. */
export function takeDataDir(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): { readonly dataDir: string; readonly rest: string[] } {
  const own: string[] = [];
  const rest: string[] = [];
  // `--data-dir` may stand anywhere.
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i]!;
    if (argument === "--data-dir") own.push(argument, ...argv.slice(++i, i + 1));
    else if (argument.startsWith("--data-dir=")) own.push(argument);
    else rest.push(argument);
  }
  const { dataDir } = loadConfig({ argv: own, env });
  makeDataFolder(dataDir);
  return { dataDir, rest };
}
