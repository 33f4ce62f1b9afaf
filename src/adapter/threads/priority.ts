import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";

/** Nice values: higher gives way to more. */
const background = 10;

/**
 * Lets the threads that serve run before this one, and before every native thread that it starts from here on, when
 * there are fewer cores than busy threads. Linux only, where a thread has a priority of its own; nothing elsewhere.
 */
export function runInBackground(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), background);
  } catch {
    // A wish, not a need: some systems have no such link, and some allow no change.
  }
}
