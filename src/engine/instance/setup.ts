import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import { EngineError, invalid } from "../errors.ts";
import { newUlid } from "./identity.ts";
import { type InstanceStore, instanceKeys, readText, writeText } from "./store.ts";

export interface Org {
  readonly id: string;
  readonly name: string;
}

export interface Setup {
  readonly org: Org;
  /** Whom the org belongs to: an email address or a subject. */
  readonly owner: string;
}

const textLengthMax = 200;

function required(field: string, value: string): string {
  const text = value.trim();
  if (text === "" || text.length > textLengthMax) throw invalid(field, `must have 1 to ${textLengthMax} characters`);
  return text;
}

export function readSetup(store: InstanceStore): Setup | undefined {
  const text = readText(store, instanceKeys.setup);
  return text === undefined ? undefined : (JSON.parse(text) as Setup);
}

/** First-run setup. Repeating it with the same org and owner changes nothing; with others it is refused. */
export async function setUp(
  store: InstanceStore,
  clock: Clock,
  random: Random,
  input: { readonly org: string; readonly owner: string },
): Promise<Setup> {
  const name = required("org", input.org);
  const owner = required("owner", input.owner);
  const known = readSetup(store);
  if (known !== undefined) {
    if (known.org.name === name && known.owner === owner) return known;
    throw new EngineError("failed_precondition", "the instance has been set up with another org or owner");
  }
  const setup: Setup = { org: { id: newUlid(clock, random), name }, owner };
  await writeText(store, instanceKeys.setup, JSON.stringify(setup));
  return setup;
}
