import assert from "node:assert/strict";

interface TailEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** Server-sent events as they arrive; comments are left out. */
export class Tail implements AsyncDisposable {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #events: AsyncGenerator<TailEvent>;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#events = readEvents(response);
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Tail> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { accept: "text/event-stream", ...headers },
      signal: abort.signal,
    });
    return new Tail(response, abort);
  }

  /** The next event, undefined when the server has ended the tail. */
  async next(): Promise<TailEvent | undefined> {
    const { value, done } = await this.#events.next();
    return done ? undefined : value;
  }

  async take(count: number): Promise<{ id: string; value: string }[]> {
    const taken: { id: string; value: string }[] = [];
    while (taken.length < count) {
      const event = await this.next();
      assert.ok(event, "the tail ended too early");
      const { offset, value } = JSON.parse(event.data!);
      assert.equal(event.id, String(offset + 1));
      taken.push({ id: event.id, value: Buffer.from(value, "base64").toString() });
    }
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#events.return(undefined).catch(() => {});
  }
}

async function* readEvents(response: Response): AsyncGenerator<TailEvent> {
  let held = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    held += chunk;
    for (let end = held.indexOf("\n\n"); end >= 0; end = held.indexOf("\n\n")) {
      const lines = held.slice(0, end).split("\n");
      held = held.slice(end + 2);
      const fields = lines.filter((line) => !line.startsWith(":")).map((line) => line.split(/: (.*)/s, 2));
      if (fields.length > 0) yield Object.fromEntries(fields) as TailEvent;
    }
  }
}
