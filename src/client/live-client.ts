import { LiveSession, type WatchState } from "./live-session.ts";
import { decodeValue, encodeValue } from "./live-value.ts";
import { type CallOptions, type ClientOptions, randomKey, Transport } from "./transport.ts";

export interface LiveClientOptions extends ClientOptions {
  readonly namespace: string;
}

/** A function by its name, with the types of its arguments and its result. */
export type FunctionReference<
  Kind extends "query" | "mutation" = "query" | "mutation",
  Args = unknown,
  Result = unknown,
> = string & { readonly __kind?: Kind; readonly __args?: Args; readonly __result?: Result };

type Known<T, Fallback> = unknown extends T ? Fallback : T;
/** Of a plain name nothing is known. */
export type ArgsOf<F> = F extends { readonly __args?: infer Args }
  ? Known<Args, Record<string, unknown>>
  : Record<string, unknown>;
export type ResultOf<F> = F extends { readonly __result?: infer Result } ? Result : unknown;

/** The functions that modules export, by module and name: the type of a generated `api`. */
export type ApiOf<Modules> = {
  readonly [M in keyof Modules]: {
    readonly [N in keyof Modules[M] as Modules[M][N] extends { readonly kind: "query" | "mutation" }
      ? N
      : never]: Modules[M][N] extends {
      readonly kind: infer Kind;
      readonly __args?: infer Args;
      readonly __result?: infer Result;
    }
      ? FunctionReference<Kind extends "query" | "mutation" ? Kind : never, Args, Result>
      : never;
  };
};

/** What a function threw, or the limit that it passed. */
export class LiveFunctionError extends Error {
  readonly kind: string;
  readonly data: unknown;

  constructor(kind: string, message: string, data: unknown) {
    super(message);
    this.name = "LiveFunctionError";
    this.kind = kind;
    this.data = data;
  }
}

interface Reply {
  readonly value?: unknown;
  readonly error?: { readonly kind: string; readonly message: string; readonly data?: unknown };
  readonly tick: string;
}

/** What shows at once what a mutation will do. */
export interface OptimisticStore {
  get<F extends FunctionReference<"query">>(query: F, args: ArgsOf<F>): ResultOf<F> | undefined;
  set<F extends FunctionReference<"query">>(query: F, args: ArgsOf<F>, value: ResultOf<F>): void;
}

export interface MutateOptions extends CallOptions {
  /** Makes it happen once, however often it is sent; one is made up without it. */
  readonly requestId?: string;
  /** Changes what watched queries show until the server's answer is there. */
  readonly optimistic?: (store: OptimisticStore) => void;
}

const service = "/service.live.v1.LiveService";

/** The Live engine of one namespace. All watched queries share one session. */
export class LiveClient {
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #session: LiveSession;

  constructor(options: LiveClientOptions) {
    this.namespace = options.namespace;
    this.#transport = new Transport(options);
    this.#session = new LiveSession(this.#transport, options.namespace);
  }

  async query<F extends FunctionReference<"query">>(
    query: F,
    args: ArgsOf<F>,
    options: CallOptions = {},
  ): Promise<ResultOf<F>> {
    const reply = await this.#call<Reply>("Query", { call: callOf(query, args) }, "read", true, options);
    return resultOf(reply) as ResultOf<F>;
  }

  async mutate<F extends FunctionReference<"mutation">>(
    mutation: F,
    args: ArgsOf<F>,
    options: MutateOptions = {},
  ): Promise<ResultOf<F>> {
    const { requestId = randomKey(), optimistic } = options;
    const layer =
      optimistic === undefined ? undefined : this.#session.addLayer((store) => optimistic(store as OptimisticStore));
    try {
      const body = { call: callOf(mutation, args), requestId };
      const reply = await this.#call<Reply>("Mutate", body, "write", true, options);
      const result = resultOf(reply);
      layer?.settle(Number(reply.tick));
      return result as ResultOf<F>;
    } catch (error) {
      layer?.drop();
      throw error;
    }
  }

  /** Calls back with the value now and after every change, until what it returns is called. */
  watch<F extends FunctionReference<"query">>(
    query: F,
    args: ArgsOf<F>,
    onValue: (value: ResultOf<F>) => void,
    onError: (error: Error) => void = () => undefined,
  ): () => void {
    return this.#session.watch(query, args, (state: WatchState) => {
      if (state.error === undefined) onValue(state.value as ResultOf<F>);
      else onError(new LiveFunctionError(state.error.kind, state.error.message, decodeValue(state.error.data)));
    });
  }

  /** The values of a watched query one after another; the newest where the reader is slow. */
  async *values<F extends FunctionReference<"query">>(
    query: F,
    args: ArgsOf<F>,
    { signal }: CallOptions = {},
  ): AsyncGenerator<ResultOf<F>> {
    let next: { value: ResultOf<F> } | { error: Error } | undefined;
    let wake: () => void = () => undefined;
    const tell = (event: typeof next) => {
      next = event;
      wake();
    };
    const stop = this.watch(
      query,
      args,
      (value) => tell({ value }),
      (error) => tell({ error }),
    );
    const onAbort = () => wake();
    signal?.addEventListener("abort", onAbort);
    try {
      while (signal?.aborted !== true) {
        const update = next;
        next = undefined;
        if (update === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if ("error" in update) throw update.error;
        else yield update.value;
      }
    } finally {
      stop();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Ends the session; watched queries hear nothing more. */
  close(): void {
    this.#session.close();
  }

  #call<T>(
    method: string,
    body: object,
    kind: "read" | "write",
    repeatable: boolean,
    { signal }: CallOptions,
  ): Promise<T> {
    const path = `${service}/${method}`;
    return this.#transport.call({
      method: "POST",
      path,
      body: { namespace: this.namespace, ...body },
      kind,
      repeatable,
      signal,
    });
  }
}

export function callOf(name: string, args: unknown) {
  return { function: name, args: encodeValue(args) };
}

function resultOf({ error, value }: Reply): unknown {
  if (error !== undefined) throw new LiveFunctionError(error.kind, error.message, decodeValue(error.data));
  return decodeValue(value);
}
