import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { CommandFailure } from "./command.ts";
import type { Position } from "./rows.ts";

/** What an import is: the same command again has the same, another one must not go on where this one stopped. */
export interface ImportIdentity {
  readonly instance: string;
  readonly namespace: string;
  readonly target: string;
  readonly source: string;
  readonly format: string;
  readonly options: string;
}

/** How far an import came. */
export interface Checkpoint {
  readonly version: 1;
  /** The idempotency keys of its batches start with it. */
  readonly id: string;
  readonly identity: ImportIdentity;
  /** After the last batch that the server has acknowledged; the one that follows may have been sent. */
  readonly position: Position;
  readonly savedAtMs: number;
  readonly done: boolean;
}

export function readCheckpoint(file: string): Checkpoint | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandFailure("failed_precondition", `the checkpoint can't be read: ${(error as Error).message}`);
  }
  try {
    const parsed = JSON.parse(text) as Checkpoint;
    if (parsed.version === 1 && typeof parsed.id === "string" && typeof parsed.position.rows === "number")
      return parsed;
  } catch {
    // Falls through to the one refusal below.
  }
  throw new CommandFailure("failed_precondition", `${file} is not a checkpoint`, "--restart starts over");
}

/** The file holds the old checkpoint or the new one, whenever the process is killed. */
export function saveCheckpoint(file: string, checkpoint: Checkpoint): void {
  const partial = `${file}.partial`;
  try {
    const descriptor = openSync(partial, "w", 0o600);
    try {
      writeSync(descriptor, `${JSON.stringify(checkpoint)}\n`);
      fdatasyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(partial, file);
  } catch (error) {
    const why = `the checkpoint can't be written: ${(error as Error).message}`;
    throw new CommandFailure("failed_precondition", why, "name a file for it with --checkpoint");
  }
}

/** The first thing in which two imports differ. */
export function difference(a: ImportIdentity, b: ImportIdentity): string | undefined {
  const names = ["instance", "namespace", "target", "source", "format", "options"] as const;
  return names.find((name) => a[name] !== b[name]);
}
