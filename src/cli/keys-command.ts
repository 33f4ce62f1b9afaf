import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { onAuthStore } from "../auth-store.ts";
import { ApiKeys } from "../engine/auth/keys.ts";
import { takeDataDir } from "./data-dir.ts";
import { runKeys } from "./keys.ts";

/** `native-engine keys …` on a data directory, whether or not a server runs on it. */
export async function runKeysCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { dataDir, rest } = takeDataDir(argv, env);
  return await onAuthStore(dataDir, (store) =>
    runKeys(rest, process, new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() })),
  );
}
