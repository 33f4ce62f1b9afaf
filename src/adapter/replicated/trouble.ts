import type { Member } from "./member.ts";

/** A node that has not come to the end of the log for so long is told to be behind. */
const behindMs = 5_000;

/** What is wrong with a node's part in the cluster, in words for its operator; null where nothing is. */
export function troubleOf({
  role,
  mayAnswer,
  owner,
  lag,
  isFull,
}: Pick<Member, "role" | "mayAnswer" | "owner" | "lag" | "isFull">) {
  if (isFull) return "the disk has no room";
  const seconds = Math.round(lag.ms / 1000);
  if (role === "owner") return mayAnswer ? null : "the log can't be written: this node may not answer as the owner";
  if (lag.ms === Infinity) return "the log has not been read to its end yet";
  if (lag.ms > behindMs && lag.entries > 0)
    return `${lag.entries} entries of the log are not read yet, after ${seconds} s`;
  if (lag.ms > behindMs) return `the log could not be read for ${seconds} s`;
  return owner === undefined ? "no node is the owner" : null;
}
