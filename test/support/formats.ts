import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGunzip } from "node:zlib";
import { readTar } from "../../src/engine/backup/tar.ts";
import { type Question, questions, repeats } from "./fixture-data.ts";
import { unmovedQuestions, unmovedRepeats } from "./unmoved-writes.ts";

/**
 * Data folders as builds of each format left them, and what the server that wrote it answered. The first was stopped; the others were killed
 * right after writes (`unmoved-writes.ts`). The one before the last was of format 5 when a build of format 6 took it over.
 */
export const formats = ["1", "2", "3", "4", "5", "6", "6-from-5", "7"] as const;
export type Format = (typeof formats)[number];

export function fixtureOf(format: string): { readonly archive: string; readonly answers: string } {
  const path = (suffix: string) => fileURLToPath(new URL(`../fixtures/format-${format}${suffix}`, import.meta.url));
  return { archive: path(".tar.gz"), answers: path(".json") };
}

/** Both are started with it, or what is remembered of events would be over by the next day. */
export const fixtureFlags = ["--cloudevents-dedup-window", "876000h"] as const;
/** The key that was made for the fixture's own instance, which nobody serves. */
export const fixtureEnv = { SERVICE_AUTH_MODE: "apikey" } as const;

/** What is asked of a fixture. */
export function questionsOf(format: Format): { questions: readonly Question[]; repeats: readonly Question[] } {
  if (format === "1") return { questions, repeats };
  return { questions: [...questions, ...unmovedQuestions], repeats: [...repeats, ...unmovedRepeats] };
}

/** What was answered then is answered now; a later build may tell more beside it. */
export function assertHolds(actual: unknown, expected: unknown, path: string): void {
  if (typeof expected !== "object" || expected === null) {
    assert.deepEqual(actual, expected, path);
    return;
  }
  assert(typeof actual === "object" && actual !== null, `${path} is there`);
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, `${path}.length`);
  for (const [name, value] of Object.entries(expected)) {
    assertHolds((actual as Record<string, unknown>)[name], value, `${path}.${name}`);
  }
}

/** Unpacks a fixture into a folder. */
export async function unpack(format: string, dataDir: string): Promise<void> {
  for await (const { name, data } of readTar(createReadStream(fixtureOf(format).archive).pipe(createGunzip()))) {
    const file = join(dataDir, name);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const pieces: Uint8Array[] = [];
    for await (const piece of data) pieces.push(piece);
    await writeFile(file, Buffer.concat(pieces));
  }
}

export interface Recorded {
  readonly note: string;
  readonly key: string;
  readonly instanceId: string;
  readonly answers: Record<string, unknown>;
  readonly repeats: Record<string, unknown>;
}

export async function recordedAnswers(format: string): Promise<Recorded> {
  return JSON.parse(await readFile(fixtureOf(format).answers, "utf8"));
}
