import { ApiError, authHeaders, request } from "./api.ts";

export interface ServerEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Server-sent events over fetch: the browser's own reader can't send a credential. */
export async function* serverEvents(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
  const response = await request(path, { headers: { ...authHeaders(), accept: "text/event-stream" }, signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      const events = blocks.map(parseEvent).filter((event) => event !== undefined);
      // What came at once is handed over at once, so that a fast tail is one repaint.
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseEvent(block: string): ServerEvent | undefined {
  let event = "message";
  let id = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, "");
    const name = line.slice(0, at);
    if (name === "event") event = value;
    else if (name === "id") id = value;
    else if (name === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event, id, data: data.join("\n") };
}

/** The error that a tail ended with. */
export function tailError(data: string): ApiError {
  const body = JSON.parse(data) as { error: string; message: string; field?: string };
  return new ApiError({ status: 200, reason: body.error, message: body.message, field: body.field });
}
