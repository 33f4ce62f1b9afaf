import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { answers, schema as queried, upsertsOfAll } from "./query-answers.ts";

/**
 * The requests that come by the thousand are served by a lane of their own on connections that the listener reads; by the
 * same lane on connections that Node's server reads; and over HTTP/2 by the router. The same requests, each way in a
 * namespace of its own, get the same answers, byte for byte.
 */

interface Sent {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Received {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

let server: ServerProcess;
let session: ClientHttp2Session;
const onNode = new Agent({ keepAlive: true, maxSockets: 1 });

const ways: Readonly<Record<string, (sent: Sent) => Promise<Received>>> = {
  listener: (sent) => overHttp1(sent, false),
  node: async (sent) => {
    // The lane does not know it, and gives the connection to Node's server for good.
    const { names } = await overHttp1({ method: "GET", path: "/v1/namespaces", headers: {}, body: undefined }, onNode);
    // Node's server writes it so, the lane in small letters.
    assert.ok(names.includes("Date"), "the lane has let go of the connection");
    return overHttp1(sent, onNode);
  },
  http2: overHttp2,
};

async function overHttp1(
  { method, path, headers, body }: Sent,
  agent: Agent | false,
): Promise<Received & { readonly names: readonly string[] }> {
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const sent = request(server.url + path, { method, headers: { ...headers, ...length }, agent });
  sent.end(body);
  const [answer] = await once(sent, "response");
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += chunk;
  return { status: answer.statusCode, headers: answer.headers as IncomingHttpHeaders, text, names: answer.rawHeaders };
}

async function overHttp2({ method, path, headers, body }: Sent): Promise<Received> {
  const stream = session.request({ ":method": method, ":path": path, ...headers });
  stream.end(body);
  const [{ ":status": status, ...received }] = await once(stream, "response");
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return { status, headers: received, text };
}

const schema = { fields: [{ name: "t", kind: "keyword" }], vectors: [{ name: "v", dim: 2 }] };

before(async () => {
  server = await ServerProcess.start();
  session = connect(server.url);
  for (const name of Object.keys(ways)) {
    await ask(`${server.url}/v1/namespaces`, { body: { name } });
    await ask(`${server.url}/v1/namespaces/${name}/streams`, { body: { name: "s", partitions: 2 } });
    const made = await ask(`${server.url}/v1/namespaces/${name}/collections`, { body: { name: "c", schema } });
    assert.equal(made.status, 200, made.text);
  }
});
after(async () => {
  onNode.destroy();
  session.destroy();
  await server[Symbol.asyncDispose]();
});

/** A path in the namespace, the body, the status, and what differs from JSON. */
type Case = readonly [path: string, body: string | undefined, status: number, headers?: Sent["headers"]];

const a = base64("a");
const records = "streams/s/partitions/0/records";
const event = '{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"n":1}}';
const oneEvent = { "content-type": "application/cloudevents+json" };
const events = { "content-type": "application/cloudevents-batch+json" };
const inHeaders = {
  ...{ "content-type": "text/plain", "ce-specversion": "1.0", "ce-id": "5" },
  ...{ "ce-source": "/s", "ce-type": "t", "ce-time": "2024-01-01T00:00:00Z" },
};
const write = (...ops: readonly string[]) => `{"ops":[${ops.join(",")}]}`;

const cases: readonly Case[] = [
  [records, `{"records":[{"value":"${a}"}]}`, 200],
  [records, `{"records":[{"value":"${a}","key":"${a}","headers":[{"key":"h","value":"${a}"}]},{}]}`, 200],
  [records, `{"records":[{"value":"${a}","timestamp_ms":5}],"match_offset":3}`, 200],
  [records, `{"records":[{"value":"${a}"}],"match_offset":3}`, 409],
  [records, '{"records":[]}', 400],
  [records, '{"records":[{"value":"*"}]}', 400],
  [records, '{"records":[{"value":1}]}', 400],
  [records, '{"records":[{"x":1}]}', 400],
  [records, "{}", 400],
  [records, "[]", 400],
  [records, "{", 400],
  [records, "", 400],
  [records, `\ufeff{"records":[{"value":"${a}"}]}`, 200],
  [records, `{"records":[{"value":"${a}"}]}`, 415, { "content-type": "text/plain" }],
  [records, `{"records":[{"value":"${a}"}]}`, 415, { "content-encoding": "gzip" }],
  [records, `{"records":[{"value":"${a}"}]}`, 200, { "idempotency-key": "k" }],
  [records, `{"records":[{"value":"${a}"}]}`, 200, { "idempotency-key": "k" }],
  ["streams/s/partitions/2/records", `{"records":[{"value":"${a}"}]}`, 404],
  ["streams/s/partitions/x/records", `{"records":[{"value":"${a}"}]}`, 400],
  ["streams/none/partitions/0/records", `{"records":[{"value":"${a}"}]}`, 404],
  [`${records}?offset=0`, undefined, 200],
  [`${records}?offset=0&max_bytes=1`, undefined, 200],
  [`${records}?offset=2&max_bytes=1000`, undefined, 200],
  [`${records}?offset=99`, undefined, 416],
  [`${records}?offset=-1`, undefined, 400],
  [`${records}?offset=0&max_bytes=0`, undefined, 200],
  [`${records}?offset=0&consistency=eventual`, undefined, 200],
  [`${records}?offset=0&max_bytes=9&consistency=strong`, undefined, 200],
  [`${records}?offset=0&consistency=weak`, undefined, 400],
  [`${records}?offset=0&consistency=strong&consistency=eventual`, undefined, 400],
  [`${records}?offset=0&x=1`, undefined, 400],
  ["streams/none/partitions/0/records?offset=0", undefined, 404],
  ["streams/s/events", event, 200, oneEvent],
  ["streams/s/events", event, 200, oneEvent],
  ["streams/s/events", `[${event},${event.replace('"1"', '"2"').replace('"id":"1"', '"id":"2"')}]`, 200, events],
  ["streams/s/events", "text", 200, inHeaders],
  ["streams/s/events", '{"specversion":"1.0","id":"3"}', 400, oneEvent],
  ["streams/s/events", '{"specversion":"2.0","id":"3","source":"/s","type":"t"}', 400, oneEvent],
  ["streams/s/events", "{", 400, oneEvent],
  ["streams/none/events", event, 404, oneEvent],
  ["collections/c/documents", write('{"upsert":{"id":1,"source":{"t":"a"},"vectors":{"v":[1,2]}}}'), 200],
  ["collections/c/documents", write('{"upsert":{"id":1,"source":{"t":"b"}}}'), 200],
  ["collections/c/documents", write('{"insert":{"id":2,"source":{}}}', '{"patch":{"id":1,"source":{"n":1}}}'), 200],
  ["collections/c/documents", write('{"delete":{"id":7}}', '{"delete":{"id":1,"if_version":9}}'), 200],
  ["collections/c/documents", write('{"insert":{"id":2,"source":{}}}'), 409],
  ["collections/c/documents", write('{"patch":{"id":3,"source":{}}}'), 404],
  ["collections/c/documents", write('{"upsert":{"id":4,"source":{"n":12345678901234567890}}}'), 200],
  ["collections/c/documents", write('{"upsert":{"id":5,"source":{"t":"Zürich 東京"}}}'), 200],
  ["collections/c/documents", `\ufeff${write('{"upsert":{"id":6,"source":{}}}')}`, 200],
  ["collections/c/documents", '{"ops":[{"upsert":{"id":8,"source":{}}}],"idempotency_key":"k"}', 200],
  ["collections/c/documents", '{"ops":[{"upsert":{"id":8,"source":{}}}],"idempotency_key":"k"}', 200],
  ["collections/c/documents", '{"ops":[{"upsert":{"id":9,"source":{}}}],"idempotency_key":"k"}', 409],
  ["collections/c/documents", '{"ops":[{"delete":{"id":9}}],"idempotency_key":""}', 400],
  ["collections/c/documents", write(), 400],
  ["collections/c/documents", "{}", 400],
  ["collections/c/documents", '{"ops":[{"upsert":{"id":1,"source":{}}}],"x":1}', 400],
  ["collections/c/documents", write('{"replace":{"id":1}}'), 400],
  ["collections/c/documents", write('{"delete":{"id":1},"upsert":{"id":1,"source":{}}}'), 400],
  ["collections/c/documents", write('{"delete":{}}'), 400],
  ["collections/c/documents", write('{"delete":{"id":1.5}}'), 400],
  ["collections/c/documents", write('{"upsert":{"id":1,"source":[]}}'), 400],
  ["collections/c/documents", write('{"upsert":{"id":1,"source":{"t":{"a":1}}}}'), 400],
  ["collections/c/documents", write('{"upsert":{"id":1,"source":{},"vectors":{"v":[1]}}}'), 400],
  ["collections/c/documents", write('{"delete":{"id":1,"if":{"term":{"zz":1}}}}'), 400],
  ["collections/c/documents", '{"ops":[', 400],
  ["collections/none/documents", write('{"delete":{"id":1}}'), 404],
  ["collections/c/documents/1", undefined, 200],
  ["collections/c/documents/4", undefined, 200],
  ["collections/c/documents/5", undefined, 200],
  ["collections/c/documents/5?consistency=eventual", undefined, 200],
  ["collections/c/documents/5?consistency=", undefined, 400],
  ["collections/c/documents/3", undefined, 404],
  ["collections/c/documents/x", undefined, 400],
  ["collections/none/documents/1", undefined, 404],
  ["collections/c/documents/count", '{"filter":{"term":{"t":"b"}}}', 200],
  ["collections/c/documents/count", '{"filter":{"term":{"u":"b"}}}', 400],
  ["collections/c/documents/count", "{}", 200],
  ["query", '{"from":"collections.c","retrieve":[{"vector":{"field":"v","query":[1,0]}}],"limit":2}', 200],
  ["query", '{"from":"collections.c","filter":{"term":{"t":"b"}},"limit":2}', 200],
  ["query", '{"from":"collections.none"}', 404],
  ["query", '{"from":"c"}', 200],
  ["query", '{"from":"collections.c","limit":-1}', 400],
  ["query", "", 400],
  ["query", "{", 400],
];

for (const [i, [path, body, status, headers = {}]] of cases.entries()) {
  const what = `${body === undefined ? "GET" : "POST"} ${path}`;
  test(`${i}: ${what} is answered with ${status}, and the same each way`, async () => {
    const received: unknown[] = [];
    for (const [namespace, send] of Object.entries(ways)) {
      const type = body === undefined ? {} : { "content-type": "application/json" };
      const answer = await send({
        method: body === undefined ? "GET" : "POST",
        path: `/v1/namespaces/${namespace}/${path}`,
        headers: { ...type, ...headers },
        body,
      });
      assert.equal(answer.status, status, `${namespace}: ${answer.text}`);
      received.push(comparable(answer, namespace));
    }
    for (const other of received.slice(1)) assert.deepEqual(other, received[0]);
  });
}

test("all queries of the table, and lists of them, are answered the same each way", async () => {
  const namespace = "http2";
  const url = `${server.url}/v1/namespaces/${namespace}`;
  await ask(`${url}/collections`, { body: { name: "docs", schema: queried } });
  const written = await ask(`${url}/collections/docs/documents`, { body: { ops: upsertsOfAll } });
  assert.equal(written.status, 200, written.text);
  const bodies = Object.values(answers)
    .map(([body]) => ({ from: "docs", ...body }))
    // It tells times.
    .filter((body) => !("explain" in body));
  const lists = [bodies.slice(0, 32), bodies.slice(32, 64)].map((queries) => ({ queries }));
  assert.ok(bodies.length > 60, `${bodies.length} queries`);
  for (const body of [...bodies, ...lists]) {
    const received: unknown[] = [];
    for (const send of Object.values(ways)) {
      const headers = { "content-type": "application/json" };
      const answer = await send({
        method: "POST",
        path: `/v1/namespaces/${namespace}/query`,
        headers,
        body: JSON.stringify(body),
      });
      assert.equal(answer.status, 200, answer.text);
      received.push(comparable(answer, namespace));
    }
    for (const other of received.slice(1)) assert.deepEqual(other, received[0]);
  }
});

for (const path of ["/health", "/ready", "/livez"]) {
  test(`${path} is answered the same each way`, async () => {
    const received: unknown[] = [];
    for (const send of Object.values(ways)) {
      received.push(comparable(await send({ method: "GET", path, headers: {}, body: undefined }), ""));
    }
    for (const other of received.slice(1)) assert.deepEqual(other, received[0]);
  });
}

/** What belongs to a connection, a moment or a namespace is left out. */
function comparable({ headers, text }: Received, namespace: string) {
  const { date, connection, "keep-alive": keepAlive, "x-request-id": id, ...kept } = headers;
  const plain = (value: string) =>
    value
      .replaceAll(`"${namespace}"`, '"ns"')
      .replaceAll(`\\"${namespace}\\"`, '"ns"')
      .replace(/"(stream|took_ms|timestamp_ms|uptime_seconds)":[\d.]+/g, '"$1":0');
  const { "content-length": length, ...others } = kept;
  assert.equal(Number(length), Buffer.byteLength(text));
  return {
    text: plain(text),
    headers: Object.entries(others)
      .map(([name, value]) => `${name}: ${plain(String(value))}`)
      .sort(),
  };
}
