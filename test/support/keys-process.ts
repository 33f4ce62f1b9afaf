/** A second process on a key store: does what its parent sends, as the command line would. */
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { runKeys } from "../../src/cli/keys.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";

const store = new LmdbStore(process.argv[2]!, { shared: true });
const keys = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });

process.on("message", async (argv: string[]) => {
  let stdout = "";
  let stderr = "";
  const io = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  };
  const code = await runKeys(argv, io, keys);
  process.send?.({ code, stdout, stderr });
});
process.on("disconnect", async () => {
  await store.close();
});
