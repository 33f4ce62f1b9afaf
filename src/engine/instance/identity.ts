import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import { type InstanceStore, instanceKeys, readText, writeText } from "./store.ts";

/** The instance's ULID, made at the first asking and kept as long as the data. */
export async function openIdentity(store: InstanceStore, clock: Clock, random: Random): Promise<string> {
  const known = readText(store, instanceKeys.identity);
  if (known !== undefined) return known;
  const id = newUlid(clock, random);
  await writeText(store, instanceKeys.identity, id);
  return id;
}

/** Crockford's base 32: no I, L, O or U, which are misread. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeLength = 10;
const randomLength = 16;

/** 48 bits of time, then 80 random bits, in 26 characters that sort by time. */
export function newUlid(clock: Clock, random: Random): string {
  let time = "";
  let rest = clock.nowMs();
  for (let i = 0; i < timeLength; i++) {
    time = alphabet[rest % 32]! + time;
    rest = Math.floor(rest / 32);
  }
  let bits = 0n;
  for (const byte of random.bytes(10)) bits = (bits << 8n) | BigInt(byte);
  let tail = "";
  for (let i = 0; i < randomLength; i++) {
    tail = alphabet[Number(bits & 31n)]! + tail;
    bits >>= 5n;
  }
  return time + tail;
}
