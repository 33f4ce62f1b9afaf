// `npm run bench -- streams …`: runs the named benchmarks, or all of them.
import { benchCollections } from "./collections.ts";
import { benchStreams } from "./streams.ts";

const benches: Readonly<Record<string, (argv: readonly string[]) => Promise<void>>> = {
  streams: benchStreams,
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
