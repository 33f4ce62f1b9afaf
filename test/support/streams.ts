import assert from "node:assert/strict";
import { type Answer, ask, base64 } from "./http.ts";

/** What the contract tests do over and over, by name. Each asserts that it worked. */
export class StreamClient {
  readonly url: string;
  readonly namespace: string;

  private constructor(url: string, namespace: string) {
    this.url = url;
    this.namespace = namespace;
  }

  static async create(serverUrl: string, namespace: string): Promise<StreamClient> {
    const made = await ask(`${serverUrl}/v1/namespaces`, { body: { name: namespace } });
    assert.equal(made.status, 201, made.text);
    return new StreamClient(`${serverUrl}/v1/namespaces/${namespace}`, namespace);
  }

  streamUrl(stream: string): string {
    return `${this.url}/streams/${stream}`;
  }

  recordsUrl(stream: string, partition = 0): string {
    return `${this.streamUrl(stream)}/partitions/${partition}/records`;
  }

  async createStream(name: string, more: object = {}): Promise<number> {
    const made = await ask(`${this.url}/streams`, { body: { name, ...more } });
    assert.equal(made.status, 201, made.text);
    return made.json.id as number;
  }

  /** Appends one record for each text, in one batch. */
  async append(stream: string, values: readonly string[], partition = 0): Promise<Answer> {
    const records = values.map((value) => ({ value: base64(value) }));
    const done = await ask(this.recordsUrl(stream, partition), { body: { records } });
    assert.equal(done.status, 200, done.text);
    return done;
  }

  fetch(stream: string, query: string, partition = 0): Promise<Answer> {
    return ask(`${this.recordsUrl(stream, partition)}?${query}`);
  }

  async values(stream: string, offset = 0, partition = 0): Promise<string[]> {
    const page = await this.fetch(stream, `offset=${offset}&max_bytes=16777216`, partition);
    assert.equal(page.status, 200, page.text);
    return page.json.records.map(({ value }: { value: string }) => Buffer.from(value, "base64").toString());
  }
}

/**
 * Waits until a look at the server shows what is expected; fails with the last look after a while. Long, for it is no
 * assertion on time: a suite that runs beside others at a low priority gets little of a processor.
 */
export async function eventually<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  const deadlineMs = performance.now() + 300_000;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > deadlineMs) assert.fail(`did not come true; last seen: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Asserts the error body that every REST failure has. */
export function assertError(answer: Answer, status: number, error: string, field?: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  assert.equal(answer.json?.error, error, answer.text);
  assert.equal(typeof answer.json.message, "string");
  assert.notEqual(answer.json.message, "");
  if (field === undefined) return;
  assert.equal(answer.json.field, field, answer.text);
  assert.ok(answer.json.message.includes(field), `the message names ${field}: ${answer.json.message}`);
}
