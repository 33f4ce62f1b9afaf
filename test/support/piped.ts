import assert from "node:assert/strict";
import { type Answer, ask, base64 } from "./http.ts";
import { eventually, StreamClient } from "./streams.ts";

/** Of its collection. */
export const pipedSchema = {
  fields: [
    { name: "title", kind: "text" },
    { name: "rank", kind: "i64" },
  ],
  vectors: [{ name: "v", dim: 2 }],
};

export interface RecordJson {
  readonly key?: string;
  readonly value?: unknown;
}

/** A namespace with a stream `s`, and what the tests do in it. */
export class Piped {
  readonly client: StreamClient;

  private constructor(client: StreamClient) {
    this.client = client;
  }

  static async create(serverUrl: string, namespace: string, partitions = 1): Promise<Piped> {
    const client = await StreamClient.create(serverUrl, namespace);
    await client.createStream("s", { partitions });
    return new Piped(client);
  }

  async createCollection(more: object = {}): Promise<void> {
    const made = await ask(`${this.client.url}/collections`, {
      body: { name: "c", schema: { ...pipedSchema, ...more } },
    });
    assert.equal(made.status, 200, made.text);
  }

  link(options?: object): Promise<Answer> {
    const body = { name: "l", source: "s", target: { kind: "collection", name: "c" }, options };
    return ask(`${this.client.url}/links`, { body });
  }

  /** Values that are text go as they are, anything else as JSON. */
  async send(records: readonly RecordJson[], partition = 0): Promise<void> {
    const encoded = records.map(({ key, value }) => ({
      ...(key === undefined ? {} : { key: base64(key) }),
      ...(value === undefined ? {} : { value: base64(typeof value === "string" ? value : JSON.stringify(value)) }),
    }));
    const done = await ask(this.client.recordsUrl("s", partition), { body: { records: encoded } });
    assert.equal(done.status, 200, done.text);
  }

  async detail() {
    const answer = await ask(`${this.client.url}/links/l`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  /** The link's detail once it has applied everything. */
  drained() {
    return eventually(
      () => this.detail(),
      ({ lag }) => lag.every(({ records }: { records: number }) => records === 0),
    );
  }

  /** Each document as `[id, version, source]`. */
  async documents(): Promise<unknown[]> {
    const page = await ask(`${this.client.url}/collections/c/documents/scroll`, { body: { limit: 1000 } });
    assert.equal(page.status, 200, page.text);
    return page.json.documents.map(({ id, version, source }: Record<string, unknown>) => [id, version, source]);
  }
}
