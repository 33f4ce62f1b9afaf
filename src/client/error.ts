/** What the service answered when it refused, or `unavailable` when there was no answer at all. */
export class ServiceError extends Error {
  /** The word to branch on: `not_found`, `conflict`, `resource_exhausted`, `unavailable`, … */
  readonly reason: string;
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The field at fault, where the request was bad. */
  readonly field: string | undefined;
  /** Finds the request in the server's log. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /** The whole error body: some reasons add fields, for example `id` or `high_watermark`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(reason: string, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ServiceError";
    this.reason = reason;
    this.status = options.status ?? 0;
    this.details = options.details ?? {};
    this.field = textOf(this.details["field"]);
    this.requestId = options.requestId ?? textOf(this.details["request_id"]);
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The same word as `reason`, under the name that the Connect protocol uses. */
  get code(): string {
    return this.reason;
  }
}

export interface ServiceErrorOptions {
  readonly status?: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The reason of an answer that carries none, as one of a proxy in between. */
function reasonOf(status: number): string {
  if (status === 429) return "resource_exhausted";
  if (status === 502 || status === 503 || status === 504) return "unavailable";
  return status >= 500 ? "internal" : "unknown";
}

export async function errorOf(response: Response): Promise<ServiceError> {
  const text = await response.text().catch(() => "");
  let details: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) details = parsed as Record<string, unknown>;
  } catch {
    // Not the service's own answer: what it says is the message.
  }
  const { status, headers } = response;
  // A rejected access token has a reason of its own beside the word of its status.
  // A call of the Connect protocol says it as its code.
  const word = textOf(details["error"]) ?? textOf(details["code"]);
  const reason = textOf(details["reason"]) ?? word ?? reasonOf(status);
  const message = textOf(details["message"]) ?? `${status} ${text.slice(0, 200) || response.statusText}`;
  return new ServiceError(reason, message, {
    status,
    details,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterMs: retryAfterOf(headers.get("retry-after")),
  });
}

/** Seconds, or a date as proxies send it. */
function retryAfterOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
