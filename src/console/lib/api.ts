import { signal } from "@preact/signals";
import { parseExactly } from "../../client/json.ts";
import { tabStorage } from "./storage.ts";

/** What the server says of a request that it refused. */
export interface Problem {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly field?: string | undefined;
  readonly hint?: string | undefined;
  /** The character of the query at which it is at fault, from 0. */
  readonly position?: number | undefined;
  readonly requestId?: string | undefined;
}

export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  const message = error instanceof Error ? error.message : String(error);
  return { status: 0, reason: "client", message };
}

/** The API key or token of this tab. */
export const credential = signal<string | undefined>(tabStorage.get("credential"));
/** Set when the server wants a credential, or another one. */
export const signInNeeded = signal<Problem | undefined>(undefined);

export function setCredential(value: string | undefined): void {
  credential.value = value;
  tabStorage.set("credential", value);
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export function authHeaders(): Record<string, string> {
  return credential.peek() === undefined ? {} : { authorization: `Bearer ${credential.peek()}` };
}

/** One request of the API; what is not a success is thrown as an ApiError. */
export async function request(path: string, options: CallOptions = {}): Promise<Response> {
  const { body, headers = {}, signal } = options;
  let response: Response;
  try {
    response = await fetch(path, {
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...authHeaders(),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError({
      status: 0,
      reason: "unreachable",
      message: "The server does not answer.",
      hint: "Check that it runs and that this machine reaches it; the console goes on by itself when it is back.",
    });
  }
  if (response.ok) return response;
  const error = new ApiError(await readProblem(response));
  if (response.status === 401) signInNeeded.value = error.problem;
  throw error;
}

export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await request(path, options);
  return (await response.json()) as T;
}

/** The same for documents: numbers that a double can't carry stay as they are written, so that editing does not round them. */
export async function callDocuments<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await request(path, options);
  return parseExactly(await response.text()) as T;
}

interface ErrorBody {
  readonly error?: string;
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
  readonly hint?: string;
  readonly reason?: string;
  /** Of a SQL statement: what is wrong, and at which character. */
  readonly sql?: { readonly kind?: string; readonly position?: number };
  readonly request_id?: string;
  readonly details?: readonly { readonly debug?: { readonly reason?: string; readonly hint?: string } }[];
}

async function readProblem(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    body = { message: text.slice(0, 500) };
  }
  const debug = body.details?.[0]?.debug;
  return {
    status: response.status,
    reason: body.reason ?? debug?.reason ?? body.error ?? body.code ?? `http_${response.status}`,
    message: body.message ?? response.statusText,
    field: body.field,
    hint: body.hint ?? debug?.hint ?? hintFor(response),
    position: body.sql?.position,
    requestId: body.request_id ?? response.headers.get("x-request-id") ?? undefined,
  };
}

function hintFor(response: Response): string | undefined {
  const after = response.headers.get("retry-after");
  if (after !== null) return `Try again in ${after} s.`;
  if (response.status === 404) return "Check the name, or create it first.";
  if (response.status === 403) return "The role of your credential does not allow this.";
  return undefined;
}

/** A part of a path. */
export function seg(text: string | number): string {
  return encodeURIComponent(text);
}

export function nsPath(namespace: string, ...parts: readonly (string | number)[]): string {
  return `/v1/namespaces/${[namespace, ...parts].map(seg).join("/")}`;
}

/** The same request from a shell. */
export function postCommand(path: string, body: string): string {
  const header = credential.value === undefined ? "" : ` \\\n  -H "authorization: Bearer $API_KEY"`;
  return `curl -X POST ${location.origin}${path}${header} \\\n  -H 'content-type: application/json' -d '${body}'`;
}
