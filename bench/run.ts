// `npm run bench -- streams …`: runs the named benchmarks, or all of them.

import { benchCollections } from "./collections.ts";
import { benchEvents } from "./events.ts";
import { benchLinks } from "./links.ts";
import { benchRpc } from "./rpc.ts";
import { benchStreams } from "./streams.ts";
import { benchVectors } from "./vectors.ts";

const benches: Readonly<Record<string, (argv: readonly string[]) => Promise<void>>> = {
  streams: benchStreams,
  vectors: benchVectors,
  events: benchEvents,
  links: benchLinks,
  rpc: benchRpc,
  collections: benchCollections,
};

const argv = process.argv.slice(2);
const flags = argv.filter((each) => each.startsWith("-"));
const names = argv.filter((each) => !each.startsWith("-"));
const unknown = names.find((name) => !(name in benches));
if (unknown !== undefined) {
  process.stderr.write(`unknown benchmark ${unknown}; there are ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
for (const name of names.length === 0 ? Object.keys(benches) : names) await benches[name]!(flags);
