import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { onAuthStore } from "../auth-store.ts";
import { openIdentity } from "../engine/instance/identity.ts";
import { SigningKeys } from "../engine/instance/signing-keys.ts";
import { type CommandOutput, parseOptions, runCommand, UsageError } from "./command.ts";
import { takeDataDir } from "./data-dir.ts";

const usage = `usage: native-engine signing-key show [--data-dir FOLDER] [--json]
       native-engine signing-key rotate [--data-dir FOLDER] [--json]
       native-engine signing-key finish [--data-dir FOLDER] [--json]

The key with which the instance signs. "rotate" publishes a new key beside the old one, which goes on signing and
vouches for the new one (keyRotation of GetInstance); give clients time to learn it, then "finish" puts it to use. The
old key stays in the key set, so that what it signed can still be verified. All work while the server runs.
`;

/** `native-engine signing-key …` on a data directory, whether or not a server runs on it. */
export async function runSigningKey(
  argv: readonly string[],
  io: CommandOutput,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  return await runCommand("signing-key", usage, io, async () => {
    if (argv.includes("--help") || argv[0] === "help") {
      io.stdout.write(usage);
      return;
    }
    const { dataDir, rest } = takeDataDir(argv, env);
    const { values, positionals } = parseOptions(rest, ["one command: show, rotate or finish"], []);
    await onAuthStore(dataDir, async (store) => {
      const clock = new NodeClock();
      const id = await openIdentity(store, clock, new NodeRandom());
      const keys = await SigningKeys.open(store, clock);
      switch (positionals[0]) {
        case "show":
          break;
        case "rotate":
          await keys.startRotation(id);
          break;
        case "finish":
          await keys.finishRotation();
          break;
        default:
          throw new UsageError("this command is not known");
      }
      tell(io, keys, values.json === true);
    });
  });
}

function tell(io: CommandOutput, keys: SigningKeys, asJson: boolean): void {
  const rotating = keys.rotationProof !== undefined;
  const [current, ...others] = keys.keySet.keys.map((key) => key.kid ?? "");
  const next = rotating ? others[0] : undefined;
  const retired = rotating ? others.slice(1) : others;
  if (asJson) {
    io.stdout.write(`${JSON.stringify({ current, next: next ?? null, retired })}\n`);
    return;
  }
  io.stdout.write(`signing: ${current}\n`);
  if (next !== undefined) io.stdout.write(`next: ${next}\n`);
  for (const key of retired) io.stdout.write(`retired: ${key}\n`);
}
