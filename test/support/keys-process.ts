/** A second process on a key store: does what its parent sends, as the command line would. */
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import type { Role } from "../../src/engine/auth/principal.ts";

const store = new LmdbStore(process.argv[2]!, { shared: true });
const keys = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });

export type Order =
  | { readonly create: string; readonly role: Role }
  | { readonly revoke: string }
  | { readonly list: true };

/** What a command would print, or why it failed. */
export interface Reply {
  readonly printed?: string;
  readonly failure?: string;
}

async function follow(order: Order): Promise<string> {
  if ("create" in order) return (await keys.create({ name: order.create, role: order.role })).key;
  if ("revoke" in order) return (await keys.revoke(order.revoke)).name;
  return JSON.stringify(keys.list());
}

process.on("message", async (order: Order) => {
  const reply: Reply = await follow(order).then(
    (printed) => ({ printed }),
    (error: Error) => ({ failure: error.message }),
  );
  process.send?.(reply);
});
process.on("disconnect", async () => {
  await store.close();
});
