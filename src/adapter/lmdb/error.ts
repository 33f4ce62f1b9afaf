import { statfsSync } from "node:fs";
import { StoreError } from "../../port/store.ts";

/**
 * A device with less than this free besides what is written is taken for full, before LMDB finds out. The message that
 * LMDB's library makes of a write without room is longer than the memory it takes for it where the position in the file has
 * many digits: the heap is damaged, and the process ends by it.
 */
const roomBytesMin = 1024 * 1024;

export function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

export function openError(file: string, cause: unknown): StoreError {
  return new StoreError(
    "damaged",
    `the store ${file} can't be opened (${text(cause)}); restore it from a backup, or move it away to start empty`,
    cause,
  );
}

/** No memory, try again, the environment gave up, no reader slot left: not the fault of what is stored. */
const soundCodes: readonly unknown[] = [12, 11, -30795, -30790];

export function readError(cause: unknown): StoreError {
  const { code } = cause as { code?: unknown };
  // A length that no buffer can have is damage too, found by the runtime.
  if (soundCodes.includes(code) || (typeof code !== "number" && !(cause instanceof RangeError))) {
    return new StoreError("failed", `the store can't be read: ${text(cause)}`, cause);
  }
  return new StoreError("damaged", `the store is damaged (${text(cause)}); restore the data from a backup`, cause);
}

/** The library rejects with a wrapper; what happened is in a promise of its, which nobody else takes care of. */
export async function commitCause(error: unknown): Promise<unknown> {
  const commitError = (error as { commitError?: unknown }).commitError;
  if (!(commitError instanceof Promise)) return error;
  return commitError.then(
    () => error,
    (cause: unknown) => cause,
  );
}

const errnoIo = 5;
/** EFBIG, ENOSPC, EDQUOT and LMDB's own for a map that can't grow. */
const noRoomCodes: readonly unknown[] = [27, 28, 122, -30792];

export function commitError(file: string, cause: unknown, bytes: number): StoreError {
  const { code } = cause as { code?: unknown };
  // LMDB reports a write that was cut short, as the last one before a device is full, as an input/output error.
  if (noRoomCodes.includes(code) || (code === errnoIo && !hasRoom(file, bytes))) {
    return new StoreError("full", "the disk has no room for the write", cause);
  }
  return new StoreError("failed", `the store could not commit: ${text(cause)}`, cause);
}

/** Whether the device has room for so many bytes more. */
export function hasRoom(file: string, bytes: number): boolean {
  return freeBytes(file) >= bytes + roomBytesMin;
}

function freeBytes(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(file);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
