// `npm run bench -- streams …`: runs the named benchmarks, or all of them.

import { benchCluster } from "./cluster.ts";
import { benchCollections } from "./collections.ts";
import { benchCommitLog } from "./commit-log.ts";
import { benchEvents } from "./events.ts";
import { benchIsolation } from "./isolation.ts";
import { benchLinks } from "./links.ts";
import { benchLive } from "./live.ts";
import { benchQuery } from "./query.ts";
import { benchRpc } from "./rpc.ts";
import { benchSql } from "./sql.ts";
import { benchStreams } from "./streams.ts";
import { benchVectors } from "./vectors.ts";

const benches: Readonly<Record<string, (argv: readonly string[]) => Promise<void>>> = {
  streams: benchStreams,
  vectors: benchVectors,
  events: benchEvents,
  links: benchLinks,
  rpc: benchRpc,
  collections: benchCollections,
  sql: benchSql,
  query: benchQuery,
  "commit-log": benchCommitLog,
  isolation: benchIsolation,
  live: benchLive,
  cluster: benchCluster,
};

/** `--documents 5000` is the same as `--documents=5000`; so it is with a folder. */
const argv = process.argv.slice(2).reduce<string[]>((taken, each) => {
  const before = taken.at(-1);
  if (before?.startsWith("--") && !before.includes("=") && /^\d+$|[./]/.test(each))
    taken[taken.length - 1] = `${before}=${each}`;
  else taken.push(each);
  return taken;
}, []);
const flags = argv.filter((each) => each.startsWith("-"));
const names = argv.filter((each) => !each.startsWith("-"));
const unknown = names.find((name) => !(name in benches));
if (unknown !== undefined) {
  process.stderr.write(`unknown benchmark ${unknown}; there are ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
for (const name of names.length === 0 ? Object.keys(benches) : names) await benches[name]!(flags);
