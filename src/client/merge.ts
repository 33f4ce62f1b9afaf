/** What several iterators give, in the order in which it comes. Each is asked for its next only after its last was taken. */
export async function* merge<T>(iterators: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const waiting = new Map<AsyncGenerator<T>, Promise<{ from: AsyncGenerator<T>; step: IteratorResult<T> }>>();
  const ask = (from: AsyncGenerator<T>) =>
    waiting.set(
      from,
      from.next().then((step) => ({ from, step })),
    );
  for (const iterator of iterators) ask(iterator);
  try {
    while (waiting.size > 0) {
      const { from, step } = await Promise.race(waiting.values());
      if (step.done) waiting.delete(from);
      else {
        ask(from);
        yield step.value;
      }
    }
  } finally {
    // Each waits in its `next` and ends only after it: the caller sees to that. Later values are dropped.
    for (const [iterator, next] of waiting) {
      next.catch(() => {});
      iterator.return(undefined as never).catch(() => {});
    }
  }
}
