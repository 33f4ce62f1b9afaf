import type { Committer } from "./committer.ts";

/** What `take` finds between two commits. It holds a snapshot, which nobody would let go where the commit beside it fails. */
export async function takeBetween<T extends { readonly snapshot: Disposable }>(
  committer: Committer,
  take: () => T | undefined,
): Promise<T | undefined> {
  let taken: T | undefined;
  try {
    await committer.submit(() => {
      taken = take();
    });
    return taken;
  } catch (error) {
    taken?.snapshot[Symbol.dispose]();
    throw error;
  }
}
