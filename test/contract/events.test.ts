import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { batchType, EventClient, type Place, structuredType } from "../support/events.ts";
import { type Answer, ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

let server: ServerProcess;
let client: EventClient;

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "events");
});
after(() => server[Symbol.asyncDispose]());

describe("where events go", () => {
  before(() => client.createStream("spread", { partitions: 16 }));

  test("to the partition of partitionkey, of subject, else of source and id, as records with that key", async () => {
    const routed = async (key: string) => {
      const records = [{ key: Buffer.from(key).toString("base64") }];
      const done = await ask(`${client.url}/streams/spread/records`, { body: { records } });
      return done.json.appends[0].partition as number;
    };
    const cases: readonly [string, object][] = [
      ["a key", { partitionkey: "a key" }],
      ["a key", { partitionkey: "a key", subject: "other" }],
      ["a subject", { subject: "a subject" }],
      ["Größe", { subject: "Größe" }],
      ["/testby-source", { id: "by-source" }],
    ];
    for (const [i, [key, attributes]] of cases.entries()) {
      const [place] = await client.append("spread", { id: `where-${i}`, ...attributes });
      assert.equal(place!.partition, await routed(key), JSON.stringify(attributes));
    }
  });

  test("partitionkey becomes the record's key", async () => {
    const [place] = await client.append("spread", { id: "keyed", partitionkey: "k-1" });
    const url = `${client.url}/streams/spread/partitions/${place!.partition}/records?offset=${place!.offset}`;
    const [record] = (await ask(url)).json.records;
    assert.equal(Buffer.from(record.key, "base64").toString(), "k-1");
  });

  test("to the partition that the request names", async () => {
    const places = await client.append("spread", [{ id: "n1" }, { id: "n2", partitionkey: "x" }], "?partition=13");
    assert.deepEqual(
      places.map(({ partition }) => partition),
      [13, 13],
    );
    assert.equal((await client.post("spread", { id: "n3" }, "?partition=16")).status, 404);
    for (const wrong of ["-1", "x", "1.5", ""]) {
      const refused = await client.post("spread", { id: "n3" }, `?partition=${wrong}`);
      assert.equal(refused.status, 400, wrong);
      assert.equal(refused.json.field, "partition");
    }
    assert.equal((await client.post("spread", { id: "n3" }, "?partitions=1")).json.field, "partitions");
  });

  test("unknown namespaces and streams are 404", async () => {
    assert.equal((await client.post("nowhere", { id: "1" })).status, 404);
    assert.equal((await client.get("nowhere", "offset=0")).status, 404);
    assert.equal((await client.get("spread", "offset=0", 16)).status, 404);
    assert.equal((await new EventClient(server.url, "none").post("spread", { id: "1" })).status, 404);
  });
});

describe("a batch is one write", () => {
  test("over several partitions, and the token names the last event of each", async () => {
    const stream = await client.createStream("atomic", { partitions: 8 });
    const events = Array.from({ length: 40 }, (_, i) => ({ id: `b${i}`, partitionkey: `k${i % 10}` }));
    const done = await client.post("atomic", events);
    assert.equal(done.status, 200, done.text);
    const places = done.json.events as { partition: number; offset: number; status: string }[];
    assert(places.every(({ status }) => status === "appended"));
    const last = new Map<number, number>();
    for (const { partition, offset } of places) last.set(partition, Math.max(offset, last.get(partition) ?? 0));
    assert(last.size > 1, "several partitions are used");
    const want = [...last].sort(([a], [b]) => a - b).map(([partition, offset]) => ({ stream, partition, offset }));
    assert.deepEqual(done.json.token, want);
    assert.deepEqual(JSON.parse(done.headers.get("service-consistency-token")!), want);
    for (const [i, { partition, offset }] of places.entries()) {
      const page = await client.get("atomic", `offset=${offset}&max_bytes=1`, partition);
      assert.equal(page.json[0].id, `b${i}`);
    }
  });

  test("one event that breaks a rule refuses them all", async () => {
    await client.createStream("refused", { partitions: 4 });
    const events = [{ id: "good-1" }, { id: "good-2" }, { id: "bad", source: "" }, { id: "good-3" }];
    const refused = await client.post("refused", events);
    assert.equal(refused.status, 400);
    assert.equal(refused.json.field, "events[2].source");
    for (let partition = 0; partition < 4; partition++) assert.deepEqual(await client.ids("refused", partition), []);
    const places = await client.append("refused", [{ id: "good-1" }, { id: "good-3" }]);
    assert(places.every(({ status }) => status === "appended"));
  });

  test("an empty batch writes nothing", async () => {
    const done = await client.post("refused", []);
    assert.equal(done.status, 200, done.text);
    assert.deepEqual(done.json, { events: [], token: [] });
  });

  test("over more partitions than a header has room for, the token is in the body", async () => {
    await client.createStream("wide", { partitions: 10_000 });
    // Bodies of each of the ways that a request can take: the short one is read by the listener itself.
    for (const count of [500, 5_000]) {
      const events = Array.from({ length: count }, (_, i) => ({ id: `w${count}-${i}` }));
      const done = await client.post("wide", events);
      assert.equal(done.status, 200, done.text.slice(0, 500));
      const used = new Set((done.json.events as Place[]).map(({ partition }) => partition));
      assert(used.size > 400);
      assert.equal(done.json.token.length, used.size);
      assert.equal(done.headers.get("service-consistency-token"), null);
    }
  });
});

describe("each source and id once", () => {
  test("a repeated event is a duplicate with the first one's place and in the token", async () => {
    const stream = await client.createStream("once", { partitions: 4 });
    const [first] = await client.append("once", { id: "x", data: 1 });
    await client.append("once", { id: "y" });
    const again = await client.post("once", { id: "x", data: 2 });
    assert.equal(again.status, 200);
    assert.deepEqual(again.json.events, [{ ...first, status: "duplicate" }]);
    assert.deepEqual(again.json.token, [{ stream, partition: first!.partition, offset: first!.offset }]);
  });

  test("wherever it is sent: the source and id count, not the partition or the rest", async () => {
    const [first] = await client.append("once", { id: "z", subject: "one" });
    const elsewhere = (first!.partition! + 1) % 4;
    const places = await client.append("once", { id: "z", subject: "two", type: "other" }, `?partition=${elsewhere}`);
    assert.deepEqual(places, [{ ...first, status: "duplicate" }]);
  });

  test("another source, another id and another stream are other events", async () => {
    await client.createStream("once-more");
    await client.append("once", { id: "s", source: "/a" });
    for (const [stream, event] of [
      ["once", { id: "s", source: "/b" }],
      ["once", { id: "s2", source: "/a" }],
      ["once", { id: "/as", source: "/" }],
      ["once-more", { id: "s", source: "/a" }],
    ] as const) {
      const [place] = await client.append(stream, event);
      assert.equal(place!.status, "appended", JSON.stringify(event));
    }
  });

  test("within a batch the first is appended and the later ones are duplicates of it", async () => {
    await client.createStream("twice");
    await client.append("twice", { id: "before" });
    const places = await client.append("twice", [{ id: "a" }, { id: "b" }, { id: "a" }, { id: "before" }, { id: "a" }]);
    assert.deepEqual(places, [
      { status: "appended", partition: 0, offset: 1 },
      { status: "appended", partition: 0, offset: 2 },
      { status: "duplicate", partition: 0, offset: 1 },
      { status: "duplicate", partition: 0, offset: 0 },
      { status: "duplicate", partition: 0, offset: 1 },
    ]);
    assert.deepEqual(await client.ids("twice"), ["before", "a", "b"]);
  });

  test("a stream that is dropped and made again knows nothing of the old one", async () => {
    await client.createStream("again");
    await client.append("again", { id: "a" });
    assert.equal((await ask(`${client.url}/streams/again`, { method: "DELETE" })).status, 200);
    await client.createStream("again");
    assert.deepEqual(await client.append("again", { id: "a" }), [{ status: "appended", partition: 0, offset: 0 }]);
  });

  test("after the window it is a new event, and the old ones leave the store", async () => {
    await using brief = await ServerProcess.start({ flags: ["--cloudevents-dedup-window", "300ms"] });
    const each = await EventClient.create(brief.url, "brief");
    await each.createStream("s");
    const [first] = await each.append("s", { id: "a" });
    const [later] = await eventually(
      () => each.append("s", { id: "a" }),
      ([place]) => place!.status === "appended",
    );
    assert.equal(first!.offset, 0);
    assert.equal(later!.offset, 1);
    assert.deepEqual(await each.ids("s"), ["a", "a"]);
  });

  test("24 concurrent posts of one event write it once", async () => {
    await client.createStream("race");
    let conflicts = 0;
    let rounds = 0;
    // A conflict needs two requests in one commit's time, which is all but certain, so a few rounds are enough.
    while (rounds < 3 || (conflicts === 0 && rounds < 100)) {
      const id = `race-${rounds}`;
      const offset = rounds++;
      const answers = await Promise.all(Array.from({ length: 24 }, () => client.post("race", { id })));
      const statuses = answers.map(({ json }) => json.events[0].status as string);
      assert.equal(statuses.filter((status) => status === "appended").length, 1, statuses.join());
      for (const answer of answers) if (answer.status === 409) checkInFlight(answer);
      conflicts += statuses.filter((status) => status === "in_flight").length;
      for (const answer of answers.filter(({ status }) => status === 200)) {
        assert.deepEqual([answer.json.events[0].partition, answer.json.events[0].offset], [0, offset]);
      }
      assert.deepEqual(await client.append("race", { id }), [{ status: "duplicate", partition: 0, offset }]);
    }
    assert(conflicts > 0, "some were in flight");
    assert.deepEqual(
      await client.ids("race"),
      Array.from({ length: rounds }, (_, i) => `race-${i}`),
    );
  });

  test("the other events of a request with one in flight are written", async () => {
    const stream = await client.createStream("race-batch");
    for (let round = 0; ; round++) {
      assert(round < 100, "one was in flight");
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          client.post("race-batch", [{ id: `shared-${round}` }, { id: `own-${round}-${i}` }]),
        ),
      );
      const refused = answers.findIndex(({ status }) => status === 409);
      if (refused < 0) continue;
      const { json } = answers[refused]!;
      assert.equal(json.events[0].status, "in_flight");
      assert.equal(json.events[1].status, "appended");
      assert.deepEqual(json.token, [{ stream, partition: 0, offset: json.events[1].offset }]);
      const again = await client.append("race-batch", [{ id: `shared-${round}` }, { id: `own-${round}-${refused}` }]);
      assert.deepEqual(
        again.map(({ status }) => status),
        ["duplicate", "duplicate"],
      );
      return;
    }
  });
});

function checkInFlight(answer: Answer): void {
  assert.equal(answer.headers.get("retry-after"), "1");
  assert.equal(answer.json.error, "conflict");
  assert.equal(typeof answer.json.message, "string");
  assert.deepEqual(answer.json.events, [{ status: "in_flight", partition: null, offset: null }]);
  assert.deepEqual(answer.json.token, []);
}

describe("reading events", () => {
  before(() => client.createStream("read"));

  test("a batch with both headers, and what is no event is passed over", async () => {
    await client.records("read", [{ value: "no event" }]);
    await client.append("read", [{ id: "r1", data: { n: 1 } }, { id: "r2" }]);
    await client.records("read", [{ value: "none either", headers: { ce_id: "no" } }]);
    await client.append("read", { id: "r3" });
    await client.records("read", [{ value: "the last" }]);
    const page = await client.get("read", "offset=0");
    assert.equal(page.status, 200);
    assert.equal(page.headers.get("content-type"), batchType);
    assert.deepEqual(
      page.json.map(({ id }: { id: string }) => id),
      ["r1", "r2", "r3"],
    );
    assert.equal(page.headers.get("service-next-offset"), "6");
    assert.equal(page.headers.get("service-high-watermark"), "6");
    const rest = await client.get("read", "offset=3");
    assert.deepEqual(rest.json.length, 1);
    assert.deepEqual((await client.get("read", "offset=6")).json, []);
  });

  test("an offset outside the partition is 416 with its bounds", async () => {
    const refused = await client.get("read", "offset=7");
    assert.equal(refused.status, 416);
    assert.equal(refused.json.error, "offset_out_of_range");
    assert.deepEqual([refused.json.offset, refused.json.log_start_offset, refused.json.high_watermark], [7, 0, 6]);
  });

  test("bad parameters are 400 and named", async () => {
    for (const [query, field] of [
      ["", "offset"],
      ["offset=-1", "offset"],
      ["offset=0&max_bytes=x", "max_bytes"],
      ["offset=0&max_wait_ms=-5", "max_wait_ms"],
      ["offset=0&mode=structured", "mode"],
      ["offset=0&colour=red", "colour"],
    ] as const) {
      const refused = await client.get("read", query);
      assert.equal(refused.status, 400, query);
      assert.equal(refused.json.field, field, refused.text);
    }
  });

  test("max_bytes bounds the answer, but one event always comes", async () => {
    await client.createStream("sized");
    const events = Array.from({ length: 20 }, (_, i) => ({ id: `s${i}`, data: "x".repeat(300) }));
    await client.append("sized", events);
    const seen: string[] = [];
    for (let offset = 0; offset < 20; ) {
      const page = await client.get("sized", `offset=${offset}&max_bytes=1500`);
      assert(Buffer.byteLength(page.text) <= 1500);
      assert(page.json.length > 1);
      seen.push(...page.json.map(({ id }: { id: string }) => id));
      const next = Number(page.headers.get("service-next-offset"));
      assert.equal(next, offset + page.json.length);
      offset = next;
    }
    assert.deepEqual(
      seen,
      events.map(({ id }) => id),
    );
    const one = await client.get("sized", "offset=4&max_bytes=1");
    assert.deepEqual(one.json.length, 1);
    assert.equal(one.headers.get("service-next-offset"), "5");
  });

  test("mode=binary answers the first event, and its offset headers follow it", async () => {
    const reply = await ask(`${client.eventsUrl("read", 0)}?offset=0&mode=binary`);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get("ce-id"), "r1");
    assert.equal(reply.headers.get("content-type"), "application/json");
    assert.equal(reply.text, '{"n":1}');
    assert.equal(reply.headers.get("service-next-offset"), "2");
    assert.equal(reply.headers.get("service-high-watermark"), "6");
    const third = await client.get("read", "offset=3&mode=binary");
    assert.equal(third.headers.get("ce-id"), "r3");
    assert.equal(third.headers.get("content-type"), null, "an event without datacontenttype has none");
    assert.equal(third.headers.get("service-next-offset"), "5");
  });

  test("mode=binary answers an event whose attributes no client takes as headers in structured mode", async () => {
    await client.createStream("wordy");
    await client.append("wordy", [{ id: "w1", subject: "x".repeat(100_000) }, { id: "w2" }]);
    const wordy = await client.get("wordy", "offset=0&mode=binary");
    assert.equal(wordy.status, 200);
    assert.equal(wordy.headers.get("content-type"), structuredType);
    assert.equal(wordy.headers.get("ce-id"), null);
    assert.equal(wordy.json.subject.length, 100_000);
    assert.equal(wordy.headers.get("service-next-offset"), "1");
    assert.equal((await client.get("wordy", "offset=1&mode=binary")).headers.get("ce-id"), "w2");
  });

  test("mode=binary is 204 when there is none, and moves past what is none", async () => {
    const none = await client.get("read", "offset=5&mode=binary");
    assert.equal(none.status, 204);
    assert.equal(none.text, "");
    assert.equal(none.headers.get("service-next-offset"), "6");
    assert.equal((await client.get("read", "offset=6&mode=binary&max_wait_ms=20")).status, 204);
  });

  test("a long poll is woken by an event, and not by a record that is none", async () => {
    await client.createStream("poll");
    const poll = client.get("poll", "offset=0&max_wait_ms=60000");
    const binary = client.get("poll", "offset=0&max_wait_ms=60000&mode=binary");
    await client.records("poll", [{ value: "no event" }, { value: "nor this" }]);
    await client.records("poll", [{ value: "nor that" }]);
    await client.append("poll", { id: "woken" });
    const page = await poll;
    assert.deepEqual(
      page.json.map(({ id }: { id: string }) => id),
      ["woken"],
    );
    assert.equal(page.headers.get("service-next-offset"), "4");
    assert.equal((await binary).headers.get("ce-id"), "woken");
  });

  test("a long poll that meets no event ends with its time, past the records it saw", async () => {
    await client.createStream("poll-out");
    await client.records("poll-out", [{ value: "1" }, { value: "2" }]);
    const page = await client.get("poll-out", "offset=0&max_wait_ms=100");
    assert.deepEqual(page.json, []);
    assert.equal(page.headers.get("service-next-offset"), "2");
  });

  test("a read waits for the offsets of its token", async () => {
    const stream = await client.createStream("token");
    await client.append("token", { id: "t0" });
    const token = (offset: number) => ({
      "service-consistency-token": JSON.stringify([{ stream, partition: 0, offset }]),
    });
    assert.equal((await client.get("token", "offset=0", 0, token(0))).json.length, 1);
    const waiting = client.get("token", "offset=0", 0, token(2));
    await client.append("token", { id: "t1" });
    await client.append("token", { id: "t2" });
    assert.equal((await waiting).json.length, 3);
    assert.equal((await client.get("token", "offset=0", 0, { "service-consistency-token": "{" })).status, 400);
  });
});

describe("what is no CloudEvents request", () => {
  test("is 415", async () => {
    const url = client.eventsUrl("read");
    for (const [headers, body] of [
      [{ "content-type": "application/json" }, '{"specversion":"1.0"}'],
      [{ "content-type": "application/cloudevents+avro" }, "x"],
      [{ "content-type": "application/cloudevents-batch+protobuf" }, "x"],
      [{ "content-type": "text/plain" }, "hello"],
      [{ "content-type": "nonsense" }, "hello"],
      [{ "content-type": "application/cloudevents+json; charset=utf-16" }, "{}"],
    ] as const) {
      const refused = await ask(url, { headers, body });
      assert.equal(refused.status, 415, JSON.stringify(headers));
      assert.equal(refused.json.error, "unsupported_media_type");
      assert.equal(typeof refused.json.message, "string");
    }
    assert.equal((await ask(url, { method: "POST" })).status, 415, "no body and no headers");
  });

  test("other methods are 405", async () => {
    assert.equal((await ask(client.eventsUrl("read"), { method: "PUT", body: "{}" })).status, 405);
    assert.equal((await ask(client.eventsUrl("read", 0), { body: "{}" })).status, 405);
  });
});
