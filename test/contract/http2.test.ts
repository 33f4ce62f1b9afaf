import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, before, test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let session: ClientHttp2Session;
before(async () => {
  server = await ServerProcess.start();
  session = connect(server.url);
});
after(async () => {
  session.destroy();
  await server[Symbol.asyncDispose]();
});

interface Http2Answer {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly text: string;
}

/** One request over cleartext HTTP/2, with prior knowledge. */
async function send(method: string, path: string, body?: string | Buffer, headers: object = {}): Promise<Http2Answer> {
  const stream = session.request({
    ":method": method,
    ":path": path,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...headers,
  });
  // After an early refusal the server may close the stream while this side still sends.
  stream.on("error", () => {});
  const answered = once(stream, "response");
  stream.end(body);
  const [received] = await answered;
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return { headers: received, status: received[":status"], text };
}

test("a stream's life over cleartext HTTP/2", { timeout: 50_000 }, async () => {
  assert.equal((await send("POST", "/v1/namespaces", '{"name":"two"}')).status, 201);
  assert.equal((await send("POST", "/v1/namespaces/two/streams", '{"name":"s"}')).status, 201);
  const records = "/v1/namespaces/two/streams/s/partitions/0/records";
  const body = JSON.stringify({ records: [{ value: base64("a") }] });
  const appended = await send("POST", records, body, { "idempotency-key": "k" });
  assert.equal(appended.status, 200);
  assert.equal(appended.headers["service-consistency-token"], JSON.stringify(JSON.parse(appended.text).token));
  assert.notEqual(appended.headers["x-request-id"], undefined);
  const replayed = await send("POST", records, body, { "idempotency-key": "k" });
  assert.equal(replayed.headers["idempotency-replayed"], "true");
  const poll = send("GET", `${records}?offset=1&max_wait_ms=60000`);
  await send("POST", records, body);
  assert.equal(JSON.parse((await poll).text).records[0].offset, 1);
  // Both protocols, one port, one log.
  assert.equal((await ask(`${server.url}${records}?offset=0`)).json.records.length, 2);
  assert.equal((await send("DELETE", "/v1/namespaces/two/streams/s")).status, 200);
});

test("a body is read that neither a type nor a length announces", { timeout: 50_000 }, async () => {
  const client = "/v1/namespaces/bodies";
  assert.equal((await send("POST", "/v1/namespaces", '{"name":"bodies"}', { "content-type": undefined })).status, 201);
  assert.equal((await send("POST", `${client}/streams`, '{"name":"s"}')).status, 201);
  const event = { "ce-specversion": "1.0", "ce-source": "/s", "ce-type": "t" };
  const bare = { ...event, "content-type": undefined };
  assert.equal((await send("POST", `${client}/streams/s/events`, "data", { ...bare, "ce-id": "1" })).status, 200);
  assert.equal((await send("POST", `${client}/streams/s/events`, "", { ...bare, "ce-id": "2" })).status, 200);
  const events = JSON.parse((await send("GET", `${client}/streams/s/partitions/0/events?offset=0`)).text);
  assert.deepEqual(
    events.map(({ data_base64 }: { data_base64?: string }) => data_base64),
    [base64("data"), undefined],
  );
});

test("errors over HTTP/2 have their body and status", { timeout: 50_000 }, async () => {
  for (const [method, path, body, status, error] of [
    ["GET", "/nowhere", undefined, 404, "not_found"],
    ["PUT", "/v1/namespaces", undefined, 405, "invalid_argument"],
    ["BREW", "/v1/namespaces", undefined, 405, "invalid_argument"],
    ["TRACE", "/v1/namespaces", undefined, 405, "invalid_argument"],
    ["POST", "/v1/namespaces", "{", 400, "invalid_argument"],
    ["POST", "/v1/namespaces", Buffer.alloc(16 * 1024 * 1024 + 1, " "), 413, "invalid_argument"],
    ["GET", "/v1/namespaces/%zz", undefined, 400, "invalid_argument"],
  ] as const) {
    const answer = await send(method, path, body);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    assert.equal(JSON.parse(answer.text).error, error);
    assert.equal(typeof JSON.parse(answer.text).message, "string");
    if (status !== 405) continue;
    assert.equal(JSON.parse(answer.text).message, `method: ${method} is not served here; use POST, GET, HEAD`);
    assert.equal(answer.headers["allow"], "POST, GET, HEAD");
  }
});

test("large bodies and answers pass over HTTP/2", { timeout: 50_000 }, async () => {
  await send("POST", "/v1/namespaces", '{"name":"large"}');
  await send("POST", "/v1/namespaces/large/streams", '{"name":"s"}');
  const records = "/v1/namespaces/large/streams/s/partitions/0/records";
  const value = Buffer.alloc(3_000_000, 7).toString("base64");
  const body = JSON.stringify({ records: [{ value }, { value }, { value }] });
  assert.equal((await send("POST", records, body)).status, 200);
  const page = await send("GET", `${records}?offset=0&max_bytes=16777216`);
  assert.equal(JSON.parse(page.text).records.length, 3);
});

test("a tail over HTTP/2 sends events until it is closed", { timeout: 50_000 }, async () => {
  await send("POST", "/v1/namespaces", '{"name":"tail"}');
  await send("POST", "/v1/namespaces/tail/streams", '{"name":"s"}');
  const records = "/v1/namespaces/tail/streams/s/partitions/0/records";
  const tail = session.request({ ":path": `${records}?offset=0`, accept: "text/event-stream" });
  tail.setEncoding("utf8");
  let text = "";
  tail.on("data", (chunk: string) => {
    text += chunk;
  });
  const [headers] = await once(tail, "response");
  assert.equal(headers[":status"], 200);
  assert.match(headers["content-type"], /^text\/event-stream/);
  await send("POST", records, '{"records":[{}]}');
  while (!text.includes("id: 1\n")) await once(tail, "data");
  tail.close();
  await once(tail, "close");
});
