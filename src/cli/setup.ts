import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { onAuthStore } from "../auth-store.ts";
import { setUp } from "../engine/instance/setup.ts";
import { type CommandOutput, parseOptions, runCommand, UsageError } from "./command.ts";
import { takeDataDir } from "./data-dir.ts";

const usage = `usage: native-engine setup --org NAME --owner NAME [--data-dir FOLDER] [--json]

First-run setup: creates the org and names its owner (an email address or a subject). It works while the server runs,
which tells it at once, and whether or not the server has ever run. Repeating it with the same names changes nothing.
`;

/** `native-engine setup …` on a data directory, whether or not a server runs on it. */
export async function runSetup(argv: readonly string[], io: CommandOutput, env: NodeJS.ProcessEnv): Promise<number> {
  return await runCommand("setup", usage, io, async () => {
    if (argv.includes("--help")) {
      io.stdout.write(usage);
      return;
    }
    const { dataDir, rest } = takeDataDir(argv, env);
    const { values } = parseOptions(rest, [], ["org", "owner"]);
    const { org, owner } = values;
    if (org === undefined) throw new UsageError("--org is missing");
    if (owner === undefined) throw new UsageError("--owner is missing");
    const [clock, random] = [new NodeClock(), new NodeRandom()];
    const setup = await onAuthStore(dataDir, (store) => setUp(store, clock, random, { org, owner }));
    if (values.json) io.stdout.write(`${JSON.stringify(setup)}\n`);
    else io.stdout.write(`The org ${setup.org.name} (${setup.org.id}) belongs to ${setup.owner}.\n`);
  });
}
