import { errorOf, ServiceError } from "./error.ts";
import { parseExactly } from "./json.ts";
import { type ConsistencyToken, isToken, Session } from "./session.ts";

export interface RetryOptions {
  /** Attempts altogether; 1 never retries. */
  readonly attemptsMax: number;
  /** The wait before the first retry; it doubles from one to the next, up to `waitMsMax`. */
  readonly waitMs: number;
  readonly waitMsMax: number;
  /** Attempts where nobody answers at all; as many as `attemptsMax` unless it is given. */
  readonly unansweredMax?: number;
}

export const retryDefaults: RetryOptions = { attemptsMax: 8, waitMs: 100, waitMsMax: 5_000 };

/** How long one attempt may take until its answer begins. */
export const attemptMsDefault = 60_000;

export interface ClientOptions {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** An API key or access token; a function is asked for it at each request. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** The token of another session, whose writes this one is to see. */
  readonly token?: ConsistencyToken | undefined;
  /** `{ attemptsMax: 1 }` turns retries off. */
  readonly retry?: Partial<RetryOptions> | undefined;
  readonly attemptMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  /**
   * Numbers of answers that a double can't carry come as `JSON.rawJSON` objects, which `JSON.stringify` writes as they
   * were. Without it they are rounded.
   */
  readonly exactNumbers?: boolean | undefined;
  /** Told before each wait for a retry. */
  readonly onRetry?: ((error: ServiceError, waitMs: number) => void) | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether it may be sent again when it is unknown if the first attempt had an effect: reads, writes with an
   * idempotency key, and what has the same effect however often it is done.
   */
  readonly repeatable: boolean;
  /** A write's own token joins the session; a read carries the session's. */
  readonly kind: "read" | "write";
  /** Beside `attemptMs`: what the request itself asks the server to wait. */
  readonly waitMs?: number;
}

type RequestBody = string | Uint8Array<ArrayBuffer>;

/** Sends requests: credential, token, retries, time-outs. */
export class Transport {
  readonly session: Session;
  readonly url: string;
  readonly #options: ClientOptions;
  readonly #retry: RetryOptions;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.url = options.url.replace(/\/+$/, "");
    this.session = new Session(options.token);
    this.#options = options;
    this.#retry = { ...retryDefaults, ...options.retry };
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** The parsed answer. A write's token joins the session. */
  async call<T>(call: Call): Promise<T> {
    return await this.attempts(call, async (response) => {
      const text = await response.text();
      const reply = (text === "" ? undefined : this.parse(text)) as T;
      if (call.kind === "write") this.#learn(reply, response);
      return reply;
    });
  }

  /** JSON of an answer, as the client's options want its numbers. */
  parse(text: string): unknown {
    return this.#options.exactNumbers === true ? parseExactly(text) : JSON.parse(text);
  }

  /** Runs attempts until one is answered and taken, or must not be repeated. */
  async attempts<T>(call: Call, take: (response: Response) => Promise<T>): Promise<T> {
    const body = bodyOf(call.body);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(call, body, take);
      } catch (error) {
        call.signal?.throwIfAborted();
        const failure = failureOf(error);
        const { attemptsMax, unansweredMax = attemptsMax } = this.#retry;
        const most = failure.status === 0 ? unansweredMax : attemptsMax;
        if (attempt >= most || !isRetryable(failure, call.repeatable)) throw failure;
        await this.waitBefore(attempt, failure, call.signal);
      }
    }
  }

  /** Waits as long as the service asked, and longer from one attempt to the next; never in step with other clients. */
  async waitBefore(attempt: number, error: ServiceError, signal: AbortSignal | undefined): Promise<void> {
    const { waitMs, waitMsMax } = this.#retry;
    const backOff = Math.min(waitMsMax, waitMs * 2 ** (attempt - 1));
    const jittered = backOff / 2 + (Math.random() * backOff) / 2;
    const wait = Math.max(jittered, error.retryAfterMs === undefined ? 0 : error.retryAfterMs + jittered / 4);
    this.#options.onRetry?.(error, wait);
    await sleep(wait, signal);
  }

  get attemptsMax(): number {
    return this.#retry.attemptsMax;
  }

  /** One attempt. Its time-out ends when the answer was taken. */
  async once<T>(call: Call, body: RequestBody | undefined, take: (response: Response) => Promise<T>): Promise<T> {
    const attempt = new Attempt(call.signal, (this.#options.attemptMs ?? attemptMsDefault) + (call.waitMs ?? 0));
    try {
      const response = await this.send(call, body, attempt.signal);
      return await take(response);
    } catch (error) {
      throw attempt.timedOut ? new ServiceError("unavailable", "the server did not answer in time") : error;
    } finally {
      attempt[Symbol.dispose]();
    }
  }

  /** The raw answer, for those who read it as a stream. */
  async send(call: Call, body: RequestBody | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const { apiKey } = this.#options;
    const credential = typeof apiKey === "function" ? await apiKey() : apiKey;
    const token = call.kind === "read" ? this.session.header : undefined;
    const json = typeof body === "string" ? { "content-type": "application/json" } : {};
    const response = await this.#fetch(this.url + call.path + queryText(call.query), {
      method: call.method,
      headers: {
        ...json,
        ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
        ...(token === undefined ? {} : { "service-consistency-token": token }),
        ...call.headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  #learn(reply: unknown, response: Response): void {
    // The header is left out where it would be too long; the body has the token always.
    const inBody = typeof reply === "object" && reply !== null && "token" in reply ? reply.token : undefined;
    const header = response.headers.get("service-consistency-token");
    if (isToken(inBody)) this.session.merge(inBody);
    else if (header !== null) this.session.merge(JSON.parse(header) as ConsistencyToken);
  }
}

/** A signal of one attempt that leaves nothing behind on the caller's. */
class Attempt implements Disposable {
  timedOut = false;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined, ms: number) {
    outer?.throwIfAborted();
    this.#outer = outer;
    outer?.addEventListener("abort", this.#onAbort);
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }
}

function bodyOf(body: unknown): RequestBody | undefined {
  if (body === undefined) return undefined;
  return body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
}

function queryText(query: Call["query"]): string {
  if (query === undefined) return "";
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

/** What fetch throws when there is no answer, or only a part of one. */
export function failureOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why =
    cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code ?? "") : String(cause);
  return new ServiceError("unavailable", `the server can't be reached: ${why}`, { cause: error });
}

/** The connection was never made, so that the request can't have had an effect. */
function wasNeverSent({ cause }: ServiceError): boolean {
  const { cause: inner } = (cause ?? {}) as { cause?: { code?: unknown } };
  return inner?.code === "ECONNREFUSED";
}

export function isRetryable(error: ServiceError, repeatable: boolean): boolean {
  // Refused before anything was done; a namespace that is full stays so until somebody makes room.
  if (error.reason === "resource_exhausted" && error.status === 429) return error.details["quota"] !== "max_bytes";
  if (error.status === 0 && wasNeverSent(error)) return true;
  if (!repeatable) return false;
  // An event of the request is being written by another request: then the answer says when to ask again.
  if (error.status === 409) return error.retryAfterMs !== undefined;
  return error.reason === "unavailable";
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** A key that no other write has. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A name as a part of a path. */
export function part(name: string | number): string {
  return encodeURIComponent(name);
}
