import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { json, type LiveNamespaceClient, LiveNamespaceClient as Namespace } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

let server: ServerProcess;
let next = 0;

before(async () => {
  server = await ServerProcess.start({ env: { SERVICE_LIVE_HEARTBEAT: "100ms" } });
});
after(() => server[Symbol.asyncDispose]());

async function namespace(): Promise<LiveNamespaceClient> {
  return await Namespace.create(server, `live${next++}`);
}

async function withTasks(): Promise<LiveNamespaceClient> {
  const live = await namespace();
  const fields = { title: { type: "string" }, done: { type: "boolean", optional: true } };
  await live.mutate("_tables:create", { table: "tasks", fields, indexes: [{ name: "by_title", fields: ["title"] }] });
  return live;
}

async function refusal(call: Promise<unknown>) {
  const error = ConnectError.from(
    await call.then(
      () => assert.fail("was not refused"),
      (thrown: unknown) => thrown,
    ),
  );
  const { reason, metadata } = infoOf(error);
  return { code: Code[error.code], reason, field: metadata["field"], message: error.rawMessage };
}

test("documents are inserted, read, patched, replaced, counted and removed", async () => {
  const live = await withTasks();
  const id = (await live.mutate("_tables:insert", { table: "tasks", document: { title: "one" } })) as string;
  const made = (await live.query("_tables:get", { id })) as Record<string, unknown>;
  assert.deepEqual({ ...made, _creationTime: 0 }, { _id: id, _creationTime: 0, title: "one" });
  assert.ok(Math.abs((made["_creationTime"] as number) - Date.now()) < 60_000);
  await live.mutate("_tables:patch", { id, patch: { done: true } });
  assert.deepEqual(await live.query("_tables:get", { id }), { ...made, done: true });
  await live.mutate("_tables:replace", { id, document: { title: "two" } });
  assert.deepEqual(await live.query("_tables:get", { id }), { ...made, title: "two" });
  const second = await live.mutate("_tables:insert", { table: "tasks", document: { title: "a" } });
  assert.equal(await live.query("_tables:count", { table: "tasks" }), 2);
  const listed = (await live.query("_tables:list", { table: "tasks" })) as { _id: string }[];
  assert.deepEqual(
    listed.map(({ _id }) => _id),
    [id, second],
  );
  await live.mutate("_tables:remove", { id });
  assert.equal(await live.query("_tables:get", { id }), null);
  assert.equal(await live.query("_tables:count", { table: "tasks" }), 1);
  await assert.rejects(live.mutate("_tables:remove", { id }), /thrown: .*no document/);
});

test("what does not fit is refused, naming the field", async () => {
  const live = await withTasks();
  const insert = (document: object) => live.mutate("_tables:insert", { table: "tasks", document: document as never });
  const cases: [Promise<unknown>, string, string | undefined][] = [
    [insert({}), "invalid_argument", "args.document.title"],
    [insert({ title: 1 }), "invalid_argument", "args.document.title"],
    [insert({ title: "x", other: 1 }), "invalid_argument", "args.document.other"],
    [insert({ title: "x", _mine: 1 }), "invalid_argument", "args.document._mine"],
    [insert({ title: "x", done: { $x: 1 } }), "invalid_argument", "args.document.done"],
    [insert({ title: "x".repeat(2_000) }), "invalid_argument", "title"],
    [live.mutate("_tables:insert", { table: "tasks" }), "invalid_argument", "args.document"],
    [live.mutate("_tables:insert", { table: "tasks", document: {}, more: 1 }), "invalid_argument", "args.more"],
    [live.mutate("_tables:insert", { table: "nothing", document: {} }), "not_found", undefined],
    [live.query("_tables:get", { id: "x" }), "invalid_argument", "args.id"],
    [live.query("_tables:insert", {}), "invalid_argument", "call.function"],
    [live.mutate("_tables:list", {}), "invalid_argument", "call.function"],
    [live.query("nothing:here", {}), "not_found", undefined],
    [live.client.query({ namespace: "nowhere", call: { function: "_tables:list" } }), "not_found", undefined],
    [live.client.query({ namespace: live.namespace }), "invalid_argument", "call.function"],
    [live.mutate("_tables:create", { table: "_x" }), "invalid_argument", "args.table"],
    [
      live.mutate("_tables:create", { table: "x", fields: { a: { type: "text" } } }),
      "invalid_argument",
      "args.fields.a.type",
    ],
    [
      live.mutate("_tables:create", { table: "x", indexes: [{ name: "i" }] }),
      "invalid_argument",
      "args.indexes[0].fields",
    ],
    [live.mutate("_tables:create", { table: "tasks" }), "already_exists", undefined],
  ];
  for (const [call, reason, field] of cases) {
    const refused = await refusal(call);
    assert.deepEqual([refused.reason, refused.field], [reason, field], refused.message);
  }
});

test("ticks count commits, commit times rise, and a query sees the past by both", async () => {
  const live = await withTasks();
  const { namespace: ns } = live;
  const first = await live.mutateAt("_tables:insert", { table: "tasks", document: { title: "one" } });
  const id = first.value as string;
  const second = await live.mutateAt("_tables:patch", { id, patch: { title: "two" } });
  const third = await live.mutateAt("_tables:remove", { id });
  assert.deepEqual([second.tick, third.tick], [first.tick + 1, first.tick + 2]);
  const list = { function: "_tables:list", args: { table: "tasks" } };
  const titlesAt = async (at: object) => {
    const reply = await live.client.query({ namespace: ns, call: list, at: { at: at as never } });
    const rows = json(reply.outcome.case === "value" ? reply.outcome.value : undefined) as { title: string }[];
    return [Number(reply.tick), rows.map(({ title }) => title)];
  };
  const wanted = [
    [first, ["one"]],
    [second, ["two"]],
    [third, []],
  ] as const;
  for (const [{ tick, commitTimestamp }, titles] of wanted) {
    assert.deepEqual(await titlesAt({ case: "tick", value: BigInt(tick) }), [tick, titles]);
    assert.deepEqual(await titlesAt({ case: "timestamp", value: commitTimestamp }), [tick, titles]);
  }
  assert.deepEqual(await titlesAt({ case: "tick", value: 0n }), [0, []]);
  const future = await refusal(titlesAt({ case: "tick", value: BigInt(third.tick + 1) }));
  assert.equal(future.reason, "failed_precondition");
  const later = { seconds: BigInt(Math.floor(Date.now() / 1000) + 60), nanos: 0 };
  assert.equal((await refusal(titlesAt({ case: "timestamp", value: later }))).reason, "failed_precondition");
  const beyond = { seconds: BigInt(Math.floor(Date.now() / 1000) - 7_200), nanos: 0 };
  assert.match((await refusal(titlesAt({ case: "timestamp", value: beyond }))).message, /beyond the history/);
});

test("a request id makes a mutation happen once", async () => {
  const live = await withTasks();
  const call = ["_tables:insert", { table: "tasks", document: { title: "once" } }] as const;
  const [one, two] = await Promise.all([live.mutateAt(...call, "r1"), live.mutateAt(...call, "r1")]);
  const three = await live.mutateAt(...call, "r1");
  assert.deepEqual([one.replayed, two.replayed, three.replayed].sort(), [false, true, true]);
  assert.deepEqual([two.value, three.value, two.tick], [one.value, one.value, one.tick]);
  assert.equal(await live.query("_tables:count", { table: "tasks" }), 1);
  const other = await refusal(live.mutateAt("_tables:insert", { table: "tasks", document: { title: "x" } }, "r1"));
  assert.equal(other.reason, "aborted");
});

test("a session shows each change, all of its queries at one tick", async () => {
  const live = await withTasks();
  await using watch = live.watch(["_tables:list", { table: "tasks" }], ["_tables:count", { table: "tasks" }]);
  const opened = await watch.next();
  assert.equal(opened.case, "opened");
  await watch.until((shown) => shown.size === 2);
  assert.deepEqual(watch.transitions[0]!.startVersion, (opened.value as { version: unknown }).version);
  for (let i = 1; i <= 20; i++) void live.mutate("_tables:insert", { table: "tasks", document: { title: `t${i}` } });
  await watch.until((shown) => {
    assert.equal((shown.get(1) as unknown[]).length, shown.get(2));
    return shown.get(2) === 20;
  });
  for (const [i, { startVersion, endVersion }] of watch.transitions.entries()) {
    if (i > 0) assert.deepEqual(startVersion, watch.transitions[i - 1]!.endVersion);
    assert.ok(endVersion!.tick >= startVersion!.tick);
  }
});

test("a session's queries are changed by version, and one that is taken up again is not sent", async () => {
  const live = await withTasks();
  const { namespace: ns, client } = live;
  await live.mutate("_tables:insert", { table: "tasks", document: { title: "one" } });
  await using watch = live.watch();
  await watch.next();
  const { sessionId } = watch;
  const call = { function: "_tables:count", args: { table: "tasks" } };
  const add = { modification: { case: "add", value: { queryId: 7, call } } } as const;
  const modify = (baseVersion: number, newVersion: number, modifications: object[]) =>
    client.modifyQuerySet({ namespace: ns, sessionId, baseVersion, newVersion, modifications });
  assert.equal((await modify(0, 1, [add])).version, 1);
  await watch.until((shown) => shown.get(7) === 1);
  assert.equal(watch.querySet, 1);
  assert.equal((await refusal(modify(0, 2, [add]))).reason, "aborted");
  assert.equal((await refusal(modify(1, 1, [add]))).field, "new_version");
  assert.equal((await refusal(modify(1, 2, [add]))).reason, "invalid_argument");
  await modify(1, 5, [{ modification: { case: "remove", value: 7 } }]);
  await watch.until((shown) => !shown.has(7));
  assert.equal(watch.querySet, 5);
  const gone = client.modifyQuerySet({ namespace: ns, sessionId: "nothing", baseVersion: 0, newVersion: 1 });
  assert.equal((await refusal(gone)).reason, "not_found");
  await using again = live.watch(["_tables:count", { table: "tasks" }, watch.digests.get(7)!]);
  while (again.transitions.length === 0) await again.next();
  const { modification } = again.transitions[0]!.modifications[0]!;
  assert.equal(modification.case === "updated" && modification.value.unchanged, true);
  assert.equal(modification.case === "updated" && modification.value.value, undefined);
});

test("a silent session hears the tick, and a query that fails may hold later", async () => {
  const live = await namespace();
  await using watch = live.watch(["_tables:count", { table: "later" }]);
  for (let event = await watch.next(); event.case !== "heartbeat"; event = await watch.next());
  assert.match(watch.failed.get(1)!, /does not exist/);
  await live.mutate("_tables:create", { table: "later" });
  await watch.until((shown) => shown.get(1) === 0);
});
