export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Answers are checked field by field by the tests themselves.
  // biome-ignore lint/suspicious/noExplicitAny: the shape differs by route
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text and bytes as they are. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** One request; a body makes it a POST. */
export async function ask(url: string, options: Ask = {}): Promise<Answer> {
  const { body, headers = {}, signal } = options;
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url, {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as string }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
