import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { type Answer, ask, base64 } from "./http.ts";

export const structuredType = "application/cloudevents+json";
export const batchType = "application/cloudevents-batch+json";

export interface EventJson {
  readonly id: string;
  readonly [name: string]: unknown;
}

export interface Place {
  readonly status: string;
  readonly partition: number | null;
  readonly offset: number | null;
}

/** A namespace of its own, with what tests of events and links do over and over. Each step asserts that it worked. */
export class EventClient {
  readonly server: string;
  readonly url: string;

  constructor(server: string, namespace: string) {
    this.server = server;
    this.url = `${server}/v1/namespaces/${namespace}`;
  }

  static async create(server: string, namespace: string): Promise<EventClient> {
    const made = await ask(`${server}/v1/namespaces`, { body: { name: namespace } });
    assert.equal(made.status, 201, made.text);
    return new EventClient(server, namespace);
  }

  eventsUrl(stream: string, partition?: number): string {
    return `${this.url}/streams/${stream}${partition === undefined ? "" : `/partitions/${partition}`}/events`;
  }

  async createStream(name: string, more: object = {}): Promise<number> {
    const made = await ask(`${this.url}/streams`, { body: { name, ...more } });
    assert.equal(made.status, 201, made.text);
    return made.json.id as number;
  }

  /** One event in structured mode, or several as a batch. */
  post(stream: string, events: EventJson | readonly EventJson[], query = ""): Promise<Answer> {
    const batch = Array.isArray(events);
    const body = JSON.stringify(batch ? events.map(whole) : whole(events as EventJson));
    const headers = { "content-type": batch ? batchType : structuredType };
    return ask(`${this.eventsUrl(stream)}${query}`, { body, headers });
  }

  /** The same, of which nothing is refused. */
  async append(stream: string, events: EventJson | readonly EventJson[], query = ""): Promise<Place[]> {
    const done = await this.post(stream, events, query);
    assert.equal(done.status, 200, done.text);
    return done.json.events as Place[];
  }

  get(stream: string, query: string, partition = 0, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`${this.eventsUrl(stream, partition)}?${query}`, { headers });
  }

  /** The ids of a partition's events, in order. */
  async ids(stream: string, partition = 0): Promise<string[]> {
    const page = await this.get(stream, "offset=0&max_bytes=16777216", partition);
    assert.equal(page.status, 200, page.text);
    return (page.json as EventJson[]).map(({ id }) => id);
  }

  /** Records as they are, for what is no event. */
  async records(
    stream: string,
    records: readonly { key?: string | Uint8Array; value?: string | null; headers?: Record<string, string> }[],
    partition = 0,
  ): Promise<Answer> {
    const body = {
      records: records.map(({ key, value, headers }) => ({
        ...(key === undefined ? {} : { key: Buffer.from(key as string).toString("base64") }),
        ...(value === undefined || value === null ? {} : { value: base64(value) }),
        ...(headers === undefined
          ? {}
          : { headers: Object.entries(headers).map(([name, text]) => ({ key: name, value: base64(text) })) }),
      })),
    };
    const done = await ask(`${this.url}/streams/${stream}/partitions/${partition}/records`, { body });
    assert.equal(done.status, 200, done.text);
    return done;
  }
}

/** With the attributes that every event must have. */
function whole(event: EventJson): Record<string, unknown> {
  return { specversion: "1.0", source: "/test", type: "test.happened", ...event };
}

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A request with exactly these headers, repeated ones too, which `fetch` would join or refuse. */
export async function rawRequest(
  url: string,
  method: string,
  headers: readonly (readonly [string, string])[] = [],
  body: Uint8Array = Buffer.alloc(0),
): Promise<RawReply> {
  const length = method === "GET" ? [] : ["content-length", String(body.length)];
  const host = ["host", new URL(url).host];
  // Node's types name headers by object or by list of pairs; the flat list is the one that keeps repeated names.
  const call = request(url, { method, headers: [...host, ...headers.flat(), ...length] as unknown as string[] });
  call.end(body);
  const [reply] = (await once(call, "response")) as [import("node:http").IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  return { status: reply.statusCode!, headers: reply.headers, body: Buffer.concat(chunks) };
}
