export interface ServerSentEvent {
  /** The resume point. */
  readonly id: string | undefined;
  /** `message` where the server names none. */
  readonly event: string;
  readonly data: string;
}

/**
 * Reads `text/event-stream`:
 *
 *   event = *( field LF ) LF        field = name ":" [SP] value; a line that starts with ":" is a comment
 *
 * A comment is given out as an event without data, so that the reader hears that the connection lives. An event that
 * the end of the connection cuts short is dropped.
 */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent | undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) yield parseEvent(block);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseEvent(block: string): ServerSentEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    switch (line.slice(0, colon)) {
      case "id":
        id = value;
        break;
      case "event":
        event = value;
        break;
      case "data":
        data.push(value);
        break;
    }
  }
  return data.length === 0 ? undefined : { id, event, data: data.join("\n") };
}
