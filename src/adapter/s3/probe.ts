import { mayPass } from "./client.ts";
import type { S3ObjectStore } from "./object-store.ts";

/** Each round lets so many writers race for one name. */
const rounds = 4;
const writers = 8;

/** `unknown`: the bucket does not answer now. */
export type ProbeResult = "sound" | "unknown";

/**
 * Whether of several writers of a new object only one succeeds, which commits of datasets stand on. Throws where the bucket can't be used: there
 * is none, the keys are refused, or it lets several of them win.
 */
export async function probeBucket(objects: S3ObjectStore, unique: string): Promise<ProbeResult> {
  try {
    for (let round = 0; round < rounds; round++) await race(objects, `probe/${unique}-${round}`);
    return "sound";
  } catch (error) {
    if (error instanceof UnsoundBucket || !mayPass(error)) throw error;
    return "unknown";
  }
}

class UnsoundBucket extends Error {}

async function race(objects: S3ObjectStore, path: string): Promise<void> {
  const results = await Promise.all(
    Array.from({ length: writers }, (_, i) => objects.putNew(path, Buffer.from(`${i}`))),
  );
  const late = await objects.putNew(path, Buffer.from("late"));
  await objects.delete(path);
  const winners = results.filter(Boolean).length;
  if (winners === 1 && !late) return;
  throw new UnsoundBucket(
    `the bucket does not write atomically with If-None-Match: ${winners} of ${writers} writers of one new object succeeded` +
      `${late ? ", and one after them" : ""}. Use one that does`,
  );
}
