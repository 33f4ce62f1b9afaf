/** How long one answer may hold the listener's thread at a time. */
const turnMs = 2;

/** Maps a long list, giving everything else that is ready a turn now and then. */
export async function inTurns<T, U>(list: readonly T[], map: (entry: T, i: number) => U): Promise<U[]> {
  const mapped: U[] = [];
  let untilMs = performance.now() + turnMs;
  for (const [i, entry] of list.entries()) {
    mapped.push(map(entry, i));
    if (performance.now() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = performance.now() + turnMs;
  }
  return mapped;
}
