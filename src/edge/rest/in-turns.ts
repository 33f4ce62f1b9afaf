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

/** Of the bytes that are put together, each piece at least. */
const partLength = 64 * 1024;

/** Puts the parts of a long text together, giving everything else that is ready a turn now and then. */
export async function bytesInTurns(parts: Iterable<string>): Promise<Buffer[]> {
  const made: Buffer[] = [];
  let text = "";
  let untilMs = performance.now() + turnMs;
  for (const part of parts) {
    text += part;
    if (text.length >= partLength) {
      made.push(Buffer.from(text));
      text = "";
    }
    if (performance.now() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = performance.now() + turnMs;
  }
  made.push(Buffer.from(text));
  return made;
}
