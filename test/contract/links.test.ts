import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EventClient } from "../support/events.ts";
import { ask } from "../support/http.ts";
import { linksOf } from "../support/links.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let client: EventClient;
const { createLink, made, detail } = linksOf(() => client);

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "links");
});
after(() => server[Symbol.asyncDispose]());

describe("links as resources", () => {
  before(() => client.createStream("src", { partitions: 2 }));

  test("are created with defaults, listed by name, shown and deleted", async () => {
    const id = await made({ name: "zeta", source: "src" });
    await made({
      name: "alpha",
      source: "src",
      target: { kind: "counter", name: "table" },
      options: { amount: "one" },
    });
    assert(Number.isInteger(id) && id > 0);
    const listed = await ask(`${client.url}/links`);
    assert.deepEqual(listed.json, {
      links: [
        { name: "alpha", source: "src", target: { kind: "counter", name: "table" }, status: "running" },
        { name: "zeta", source: "src", target: { kind: "counter", name: "zeta" }, status: "running" },
      ],
    });
    assert.deepEqual(await detail("zeta"), {
      id,
      name: "zeta",
      source: "src",
      target: { kind: "counter", name: "zeta" },
      options: {},
      status: "running",
      applied: [
        { partition: 0, offset: 0 },
        { partition: 1, offset: 0 },
      ],
      lag: [
        { partition: 0, records: 0 },
        { partition: 1, records: 0 },
      ],
      version: 0,
      counters: {},
      skipped: 0,
    });
    assert.deepEqual((await detail("alpha")).options, { amount: "one" });
    for (const name of ["alpha", "zeta"]) {
      assert.deepEqual((await ask(`${client.url}/links/${name}`, { method: "DELETE" })).json, { dropped: true });
      assert.equal((await ask(`${client.url}/links/${name}`)).status, 404);
    }
    assert.deepEqual((await ask(`${client.url}/links`)).json, { links: [] });
  });

  test("null for an optional field means absent", async () => {
    await made({ name: "nulls", source: "src", target: null, options: null });
    const { target, options } = await detail("nulls");
    assert.deepEqual([target, options], [{ kind: "counter", name: "nulls" }, {}]);
  });

  test("what is missing is 404, and a name that is taken 409 with its id", async () => {
    const id = await made({ name: "taken", source: "src" });
    for (const answer of [
      await createLink({ name: "lost", source: "nowhere" }),
      await ask(`${client.url}/links/none`),
      await ask(`${client.url}/links/none`, { method: "DELETE" }),
      await ask(`${server.url}/v1/namespaces/none/links`),
      await ask(`${server.url}/v1/namespaces/none/links`, { body: { name: "a", source: "src" } }),
    ]) {
      assert.equal(answer.status, 404, answer.text);
      assert.equal(answer.json.error, "not_found");
    }
    const again = await createLink({ name: "taken", source: "src" });
    assert.equal(again.status, 409);
    assert.equal(again.json.error, "already_exists");
    assert.equal(again.json.id, id);
  });

  test("a namespace with a link is not empty", async () => {
    const other = await EventClient.create(server.url, "links-full");
    await other.createStream("s");
    await made({ name: "l", source: "s" }, other);
    assert.equal((await ask(`${other.url}/streams/s`, { method: "DELETE" })).status, 200);
    assert.equal((await ask(other.url, { method: "DELETE" })).status, 409);
    assert.equal((await ask(`${other.url}/links/l`, { method: "DELETE" })).status, 200);
    assert.equal((await ask(other.url, { method: "DELETE" })).status, 200);
  });

  for (const [what, body, field] of [
    ["no name", { source: "src" }, "name"],
    ["no source", { name: "x" }, "source"],
    ["a bad name", { name: "-x", source: "src" }, "name"],
    ["an unknown field", { name: "x", source: "src", colour: 1 }, "colour"],
    ["a target without kind", { name: "x", source: "src", target: { name: "t" } }, "target.kind"],
    ["an unknown option", { name: "x", source: "src", options: { every: 2 } }, "options.every"],
    ["an unknown by", { name: "x", source: "src", options: { by: "value" } }, "options.by"],
    ["by with two members", { name: "x", source: "src", options: { by: { header: "a", json: "" } } }, "options.by"],
    ["a header that is no text", { name: "x", source: "src", options: { by: { header: 1 } } }, "options.by"],
    ["an unknown amount", { name: "x", source: "src", options: { amount: 2 } }, "options.amount"],
    ["a bad pointer", { name: "x", source: "src", options: { by: { json: "a/b" } } }, "options.by.json"],
    ["a bad escape", { name: "x", source: "src", options: { amount: { json: "/a~2" } } }, "options.amount.json"],
    ["options that are no object", { name: "x", source: "src", options: [] }, "options"],
  ] as const) {
    test(`${what} is 400 and named`, async () => {
      const refused = await createLink(body);
      assert.equal(refused.status, 400, refused.text);
      assert.equal(refused.json.field, field);
      assert(refused.json.message.includes(field), refused.json.message);
    });
  }

  test("a kind that no worker knows is unregistered, with its lag from 0", async () => {
    await client.createStream("unread", { partitions: 2 });
    const options = { anything: { goes: ["here"] } };
    const id = await made({ name: "hook", source: "unread", target: { kind: "webhook", name: "w" }, options });
    await client.records("unread", [{ value: "1" }, { value: "1" }], 1);
    assert.deepEqual(await detail("hook"), {
      id,
      name: "hook",
      source: "unread",
      target: { kind: "webhook", name: "w" },
      options,
      status: "unregistered",
      lag: [
        { partition: 0, records: 0 },
        { partition: 1, records: 2 },
      ],
    });
  });
});

describe("counters", () => {
  interface Case {
    readonly what: string;
    readonly options?: object;
    readonly records: Parameters<EventClient["records"]>[1];
    readonly counters: Record<string, number>;
    readonly skipped: number;
  }

  const json = (value: unknown) => JSON.stringify(value);
  const cases: readonly Case[] = [
    {
      what: "by key and value: 1 without a value, a decimal integer with one",
      records: [
        { key: "a" },
        { key: "a", value: "" },
        { key: "a", value: "5" },
        { key: "b", value: "-7" },
        { key: "b", value: "+2" },
        { key: "", value: "3" },
        { key: "Größe", value: "4" },
        { key: "__proto__", value: "1" },
      ],
      counters: Object.fromEntries([
        ["a", 7],
        ["b", -5],
        ["", 3],
        ["Größe", 4],
        ["__proto__", 1],
      ]),
      skipped: 0,
    },
    {
      what: "no key, a key that is no UTF-8 and a value that is no integer are skipped",
      records: [
        { value: "5" },
        { key: Buffer.from([0xff, 0xfe]), value: "5" },
        { key: Buffer.from([0xc3]), value: "5" },
        ...["1.5", "1e3", "0x10", " 5", "5 ", "five", "-", "--1", "٣", "1_000"].map((value) => ({ key: "k", value })),
        { key: "k", value: "9223372036854775808" },
        { key: "k", value: "-9223372036854775809" },
        { key: "k", value: "123456789012345678901234567890" },
        { key: "k", value: "1" },
      ],
      counters: { k: 1 },
      skipped: 16,
    },
    {
      what: "amount one",
      options: { amount: "one" },
      records: [{ key: "a", value: "17" }, { key: "a", value: "no number" }, { key: "a" }, { value: "1" }],
      counters: { a: 3 },
      skipped: 1,
    },
    {
      what: "by a header, the last of its name",
      options: { by: { header: "kind" } },
      records: [
        { headers: { kind: "x" }, value: "2" },
        { key: "other", headers: { more: "y" }, value: "2" },
        { value: "2" },
        { headers: { kind: "x" } },
      ],
      counters: { x: 3 },
      skipped: 2,
    },
    {
      what: "by and amount from JSON",
      options: { by: { json: "/user/name" }, amount: { json: "/items/1" } },
      records: [
        { value: json({ user: { name: "ann" }, items: [0, 4] }) },
        { value: json({ user: { name: "ann" }, items: [0, "6"] }) },
        { value: json({ user: { name: 42 }, items: [0, 1] }) },
        { value: json({ user: { name: true }, items: [0, 1] }) },
        { value: json({ user: { name: null }, items: [0, 1] }) },
        { value: json({ user: { name: {} }, items: [0, 1] }) },
        { value: json({ user: { name: "bob" }, items: [0, 1.5] }) },
        { value: json({ user: { name: "bob" }, items: [1] }) },
        { value: json({ items: [0, 1] }) },
        { value: "no json" },
        { value: null },
      ],
      counters: { ann: 10, "42": 1, true: 1 },
      skipped: 7,
    },
    {
      what: "a pointer to the whole value, and escapes",
      options: { by: { json: "/a~1b/~0c" }, amount: "one" },
      records: [{ value: json({ "a/b": { "~c": "found" } }) }, { value: json({ a: 1 }) }],
      counters: { found: 1 },
      skipped: 1,
    },
  ];
  for (const [i, { what, options, records, counters, skipped }] of cases.entries()) {
    test(what, async () => {
      await client.createStream(`count-${i}`);
      await made({ name: `count-${i}`, source: `count-${i}`, ...(options === undefined ? {} : { options }) });
      await client.records(`count-${i}`, records);
      const shown = await detail(`count-${i}`);
      assert.deepEqual(shown.counters, counters);
      assert.equal(shown.skipped, skipped);
      assert.deepEqual(shown.applied, [{ partition: 0, offset: records.length }]);
      assert.deepEqual(shown.lag, [{ partition: 0, records: 0 }]);
      assert.equal(shown.error, undefined);
    });
  }

  /** A counter as it is written, since it may be beyond what a JavaScript number holds. */
  async function written(link: string, counter: string): Promise<string | undefined> {
    const { text } = await ask(`${client.url}/links/${link}`);
    return new RegExp(`"${counter}":(-?\\d+)`).exec(text)?.[1];
  }

  test("are int64: exact beyond 2^53, and saturate at every record", async () => {
    await client.createStream("large");
    await made({ name: "large", source: "large" });
    const max = "9223372036854775807";
    const min = "-9223372036854775808";
    await client.records("large", [
      { key: "exact", value: "9007199254740993" },
      { key: "exact", value: "9007199254740993" },
      { key: "max", value: max },
      { key: "max", value: "5" },
      { key: "back", value: max },
      { key: "back", value: "5" },
      { key: "back", value: "-1" },
      { key: "min", value: min },
      { key: "min", value: "-1" },
    ]);
    assert.equal(await written("large", "exact"), "18014398509481986");
    assert.equal(await written("large", "max"), max);
    assert.equal(await written("large", "back"), "9223372036854775806");
    assert.equal(await written("large", "min"), min);
    await client.records("large", [
      { key: "max", value: "1" },
      { key: "back", value: "9" },
      { key: "min", value: "1" },
    ]);
    assert.equal(await written("large", "max"), max);
    assert.equal(await written("large", "back"), max);
    assert.equal(await written("large", "min"), "-9223372036854775807");
  });

  test("read integers of JSON exactly, beyond 2^53 too", async () => {
    await client.createStream("exact");
    await made({ name: "exact", source: "exact", options: { by: { json: "/id" }, amount: { json: "/n" } } });
    await client.records("exact", [
      { value: '{"id":"a","n":9007199254740993}' },
      { value: '{"id":9007199254740993,"n":1}' },
      { value: '{"id":9007199254740992,"n":2}' },
      { value: '{"id":"a","n":9223372036854775808}' },
      { value: '{"id":"a","n":10000000000000000.5}' },
    ]);
    assert.equal(await written("exact", "a"), "9007199254740993");
    assert.equal(await written("exact", "9007199254740993"), "1");
    assert.equal(await written("exact", "9007199254740992"), "2");
    assert.equal((await detail("exact")).skipped, 2);
  });

  test("a name longer than a key of the store is kept whole", async () => {
    await client.createStream("long");
    await made({ name: "long", source: "long" });
    const name = "n".repeat(5_000);
    await client.records("long", [{ key: name }, { key: `${name}x` }, { key: name }]);
    assert.deepEqual((await detail("long")).counters, { [name]: 2, [`${name}x`]: 1 });
  });

  test("version grows by one with each applied batch, and a read shows what was acknowledged before it", async () => {
    await client.createStream("steps", { partitions: 3 });
    await made({ name: "steps", source: "steps" });
    for (let i = 1; i <= 20; i++) {
      await client.records("steps", [{ key: "n" }], i % 3);
      const shown = await detail("steps");
      assert.equal(shown.version, i);
      assert.deepEqual(shown.counters, { n: i });
    }
    assert.equal((await detail("steps")).version, 20, "a read changes nothing");
  });

  test("a read with a token waits for it, and ignores other streams", async () => {
    const stream = await client.createStream("token");
    await made({ name: "token", source: "token" });
    const read = (value: string) =>
      ask(`${client.url}/links/token`, { headers: { "service-consistency-token": value } });
    const waiting = read(JSON.stringify([{ stream, partition: 0, offset: 1 }]));
    await client.records("token", [{ key: "n" }]);
    await client.records("token", [{ key: "n" }]);
    assert.deepEqual((await waiting).json.counters, { n: 2 });
    assert.equal((await read(JSON.stringify([{ stream: 999_999, partition: 0, offset: 10 }]))).status, 200);
    assert.equal((await read("nonsense")).status, 400);
  });

  test("events are counted by their partition key", async () => {
    await client.createStream("shop", { partitions: 4 });
    await made({ name: "shop", source: "shop", options: { amount: "one" } });
    const events = Array.from({ length: 30 }, (_, i) => ({ id: `e${i}`, partitionkey: `k${i % 3}`, data: { i } }));
    await client.append("shop", events);
    await client.append("shop", events);
    assert.deepEqual((await detail("shop")).counters, { k0: 10, k1: 10, k2: 10 });
  });
});

// The namespace has the name of a schema, too.
test("SQL adds up what links with one target count", async () => {
  for (const stream of ["east", "west"]) {
    await client.createStream(stream);
    await made({ name: `of-${stream}`, source: stream, target: { kind: "counter", name: "visits" } });
    await client.records(stream, [{ key: "a", value: "2" }, { key: stream }]);
  }
  const rowsOf = async (query: string) => {
    const done = await ask(`${client.url}/sql`, { body: { query } });
    assert.equal(done.status, 200, done.text);
    return done.json.rows.map(Object.values);
  };
  assert.deepEqual(await rowsOf("select * from counters.visits order by counter"), [
    ["a", 4],
    ["east", 1],
    ["west", 1],
  ]);
  assert.deepEqual(await rowsOf(`select * from links."of-east" order by counter`), [
    ["a", 2],
    ["east", 1],
  ]);
});
