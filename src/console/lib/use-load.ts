import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Problem, problemOf } from "./api.ts";

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  readonly loading: boolean;
  /** Whether what is shown is a first part of it. */
  readonly partial: boolean;
  readonly reload: () => void;
}

interface LoadState<T> {
  readonly data?: T;
  readonly problem?: Problem;
  readonly loading: boolean;
  readonly partial?: boolean;
}

/**
 * Loads something when `deps` change, and again every `everyMs` while the page is visible. The next round starts only
 * after the one before has ended, so that a slow server is not asked faster than it answers. The first time, what comes
 * in parts is shown as far as it has come.
 */
export function useLoad<T>(
  load: (signal: AbortSignal, show: (part: T) => void) => Promise<T>,
  deps: readonly unknown[],
  everyMs?: number,
): Loaded<T> {
  const [state, setState] = useState<LoadState<T>>({ loading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const key = JSON.stringify(deps);
  const known = useRef(key);
  // Depends on this alone: the caller names what the load depends on
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isOther = known.current !== key;
    known.current = key;
    setState((was) => (isOther ? { loading: true } : { ...was, loading: true }));
    const show = (data: T) => {
      if (stop.signal.aborted) return;
      setState((was) => (was.data === undefined || was.partial ? { data, loading: true, partial: true } : was));
    };
    const run = async () => {
      try {
        const data = await latest.current(stop.signal, show);
        if (!stop.signal.aborted) setState({ data, loading: false });
      } catch (error) {
        if (stop.signal.aborted) return;
        setState((was) => ({
          ...(was.data === undefined ? {} : { data: was.data }),
          problem: problemOf(error),
          loading: false,
        }));
      }
      if (everyMs !== undefined && !stop.signal.aborted) timer = setTimeout(whenVisible, everyMs);
    };
    const whenVisible = () => {
      if (document.visibilityState === "visible") void run();
      else document.addEventListener("visibilitychange", () => void whenVisible(), { once: true, signal: stop.signal });
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, round, everyMs]);
  const reload = useCallback(() => setRound((was) => was + 1), []);
  const { data, problem, loading, partial = false } = state;
  return { data, problem, loading, partial, reload };
}

export interface Action<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<void>;
  readonly busy: boolean;
  readonly problem: Problem | undefined;
  readonly clear: () => void;
}

/** Something a person starts: busy while it runs, with what went wrong. */
export function useAction<A extends readonly unknown[]>(perform: (...args: A) => Promise<unknown>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const run = async (...args: A) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await perform(...args);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { run, busy, problem, clear: () => setProblem(undefined) };
}
