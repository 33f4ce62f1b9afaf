/** Live queries and mutations as hooks of React. */
import {
  createContext,
  createElement,
  type FunctionComponentElement,
  type ProviderProps,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";
import type { ArgsOf, FunctionReference, LiveClient, MutateOptions, ResultOf } from "../../src/client/index.ts";

const LiveContext = createContext<LiveClient | undefined>(undefined);

/** The client of everything below it. */
export function LiveProvider(props: {
  readonly client: LiveClient;
  readonly children?: ReactNode;
}): FunctionComponentElement<ProviderProps<LiveClient | undefined>> {
  return createElement(LiveContext.Provider, { value: props.client }, props.children);
}

export function useLiveClient(): LiveClient {
  const client = useContext(LiveContext);
  if (client === undefined) throw new Error("there is no LiveProvider above this component");
  return client;
}

interface State<T> {
  readonly value?: T;
  readonly error?: Error;
}

/** What a query shows, kept between renders. */
class Watched<F extends FunctionReference<"query">> {
  #state: State<ResultOf<F>> = {};
  readonly snapshot = (): State<ResultOf<F>> => this.#state;
  readonly subscribe: (onChange: () => void) => () => void;

  constructor(client: LiveClient, query: F, args: ArgsOf<F> | "skip") {
    this.subscribe = (onChange) => {
      if (args === "skip") return () => undefined;
      const show = (state: State<ResultOf<F>>) => {
        this.#state = state;
        onChange();
      };
      return client.watch(
        query,
        args,
        (value) => show({ value }),
        (error) => show({ error }),
      );
    };
  }
}

/** The value of a query, which stays up to date; undefined until it is there, and with `"skip"`. Throws what the query throws. */
export function useQuery<F extends FunctionReference<"query">>(
  query: F,
  args: ArgsOf<F> | "skip",
): ResultOf<F> | undefined {
  const client = useLiveClient();
  const key = JSON.stringify(args, plain);
  // Arguments that are equal are the same query.
  const watched = useMemo(() => new Watched(client, query, args), [client, query, key]);
  const { value, error } = useSyncExternalStore(watched.subscribe, watched.snapshot, watched.snapshot);
  if (error !== undefined) throw error;
  return value;
}

/** A function that runs the mutation. */
export function useMutation<F extends FunctionReference<"mutation">>(
  mutation: F,
): (args: ArgsOf<F>, options?: MutateOptions) => Promise<ResultOf<F>> {
  const client = useLiveClient();
  return useCallback((args, options) => client.mutate(mutation, args, options), [client, mutation]);
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Uint8Array ? Array.from(value) : value;
}
