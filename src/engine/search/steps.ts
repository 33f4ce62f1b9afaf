/** Work in short steps: the caller may do other work before the next one, or drop the rest. */
export type Steps<T> = Generator<undefined, T, undefined>;

export function runSteps<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Documents, rows or matches that one step looks at; about a millisecond. */
export const stepDocs = 16_384;
