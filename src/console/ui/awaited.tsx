import type { ComponentChildren } from "preact";
import type { Problem } from "../lib/api.ts";
import type { Loaded } from "../lib/use-load.ts";
import { Loading, ProblemNotice } from "./parts.tsx";

export interface AwaitedProps<T> {
  readonly loaded: Loaded<T>;
  /** What else went wrong on the page. */
  readonly problem?: Problem | undefined;
  readonly children: (data: T) => ComponentChildren;
}

/** What was loaded once it is there, until then that it is loading, and whatever went wrong above it. */
export function Awaited<T>({ loaded, problem, children }: AwaitedProps<T>) {
  const { data, reload } = loaded;
  return (
    <>
      <ProblemNotice problem={loaded.problem ?? problem} retry={reload} />
      {data !== undefined ? children(data) : loaded.problem === undefined ? <Loading /> : null}
    </>
  );
}
