/** A process that opens the shared store for every step, as each command of the command line does. */
import { onAuthStore } from "../../src/composition/auth-store.ts";

const [dataDir = "", name = ""] = process.argv.slice(2);

process.on("message", async (round: number) => {
  const key = Buffer.from(`round/${round}`);
  const won = await onAuthStore(dataDir, async (store) => {
    if (store.get(key) !== undefined) return false;
    await store.commit([{ kind: "put", key, value: Buffer.from(name) }]);
    return true;
  });
  process.send?.(won);
});
process.on("disconnect", () => process.exit(0));
