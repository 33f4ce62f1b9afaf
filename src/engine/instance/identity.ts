import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import { instanceKeys } from "./keys.ts";
import { type InstanceStore, readText, writeText } from "./store.ts";
import { newUlid } from "./ulid.ts";

/** The instance's ULID, made at the first asking and kept as long as the data. */
export async function openIdentity(store: InstanceStore, clock: Clock, random: Random): Promise<string> {
  const known = readText(store, instanceKeys.identity);
  if (known !== undefined) return known;
  const id = newUlid(clock, random);
  await writeText(store, instanceKeys.identity, id);
  return id;
}
