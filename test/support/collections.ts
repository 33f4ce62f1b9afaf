import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Answer, ask } from "./http.ts";
import { ServerProcess } from "./process.ts";
import { eventually } from "./streams.ts";

/** What the tests of collections do over and over, by name. */
export class CollectionClient {
  /** Of the namespace. */
  readonly url: string;
  readonly namespace: string;

  constructor(serverUrl: string, namespace: string) {
    this.url = `${serverUrl}/v1/namespaces/${namespace}`;
    this.namespace = namespace;
  }

  static async create(serverUrl: string, namespace: string): Promise<CollectionClient> {
    const made = await ask(`${serverUrl}/v1/namespaces`, { body: { name: namespace } });
    assert.equal(made.status, 201, made.text);
    return new CollectionClient(serverUrl, namespace);
  }

  of(collection: string): string {
    return `${this.url}/collections/${collection}`;
  }

  make(name: string, schema: object): Promise<Answer> {
    return ask(`${this.url}/collections`, { body: { name, schema } });
  }

  async made(name: string, schema: object = {}): Promise<Answer> {
    const done = await this.make(name, schema);
    assert.equal(done.status, 200, done.text);
    return done;
  }

  write(
    name: string,
    ops: readonly object[],
    more: object = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return ask(`${this.of(name)}/documents`, { body: { ops, ...more }, headers });
  }

  async written(name: string, ops: readonly object[]): Promise<Answer> {
    const done = await this.write(name, ops);
    assert.equal(done.status, 200, done.text);
    return done;
  }

  get(name: string, id: number | string, query = "", headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`${this.of(name)}/documents/${id}${query}`, { headers });
  }

  /** One of the routes that take a body: get, scroll, count, delete_by_filter, patch_by_filter. */
  post(name: string, route: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`${this.of(name)}/documents/${route}`, { body, headers });
  }

  async count(name: string, filter?: object): Promise<number> {
    const done = await this.post(name, "count", filter === undefined ? {} : { filter });
    assert.equal(done.status, 200, done.text);
    return done.json.count as number;
  }

  /** The ids of all documents that match, page by page. */
  async ids(name: string, filter?: object, limit = 1000): Promise<number[]> {
    const found: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Answer = await this.post(name, "scroll", { filter, limit, cursor });
      assert.equal(page.status, 200, page.text);
      found.push(...page.json.documents.map(({ id }: { id: number }) => id));
      cursor = page.json.next_cursor;
    } while (cursor !== null);
    return found;
  }

  async info(name: string): Promise<Answer["json"]> {
    const done = await ask(this.of(name));
    assert.equal(done.status, 200, done.text);
    return done.json;
  }

  scan(name: string): Promise<Answer> {
    return ask(`${this.of(name)}/scan`, { method: "POST" });
  }

  /** Waits until every write is in the index. */
  async sealed(name: string): Promise<void> {
    await eventually(
      async () => (await this.scan(name)).json.tail_records as number,
      (left) => left === 0,
    );
  }

  query(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`${this.url}/query`, { body, headers });
  }

  async answered(body: object): Promise<Answer["json"]> {
    const answer = await this.query(body);
    assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
    return answer.json;
  }
}

export function upserts(ids: readonly number[], source: (id: number) => object): object[] {
  return ids.map((id) => ({ upsert: { id, source: source(id) } }));
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** A schema that many tests can do with. */
export const tagged = {
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
};

/** What became of each operation of a write. */
export function statuses(answer: Answer): [number, string, number][] {
  assert.equal(answer.status, 200, answer.text);
  return answer.json.results.map(({ id, status, version }: { id: number; status: string; version: number }) => {
    return [id, status, version];
  });
}

type MakeClient = () => Promise<CollectionClient>;

/** A server of the test file's own, whose clients have a namespace each. `prepare` is called once it runs. */
export function collectionsServer(sealIdle: string, prepare: (client: MakeClient) => Promise<void> = async () => {}) {
  let server: ServerProcess;
  let namespaces = 0;
  before(async () => {
    server = await ServerProcess.start({ flags: ["--collection-seal-idle", sealIdle] });
    await prepare(client);
  });
  after(() => server[Symbol.asyncDispose]());
  const client = () => CollectionClient.create(server.url, `ns${namespaces++}`);
  return {
    server: () => server,
    client,
    /** One with a collection `docs`. */
    async collection(schema: object = {}): Promise<CollectionClient> {
      const made = await client();
      await made.made("docs", schema);
      return made;
    },
  };
}
