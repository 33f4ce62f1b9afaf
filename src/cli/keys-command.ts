import { mkdirSync } from "node:fs";
import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { loadConfig } from "../config.ts";
import { ApiKeys } from "../engine/auth/keys.ts";
import { openAuthStore } from "../server.ts";
import { runKeys } from "./keys.ts";

/** `native-engine keys …` on a data directory, whether or not a server runs on it. */
export async function runKeysCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { own, rest } = takeDataDir(argv);
  const { dataDir } = loadConfig({ argv: own, env });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const store = openAuthStore(dataDir);
  try {
    const keys = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
    return await runKeys(rest, process, keys);
  } finally {
    await store.close();
  }
}

/** `--data-dir` may stand anywhere; the rest is the command's own. */
function takeDataDir(argv: readonly string[]): { own: string[]; rest: string[] } {
  const own: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i]!;
    if (argument === "--data-dir") own.push(argument, ...argv.slice(++i, i + 1));
    else if (argument.startsWith("--data-dir=")) own.push(argument);
    else rest.push(argument);
  }
  return { own, rest };
}
