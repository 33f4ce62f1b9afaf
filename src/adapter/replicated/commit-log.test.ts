import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes, WriteOp } from "../../port/store.ts";
import { LoggedStore, storedCursor } from "../logged/store.ts";
import { MemorySharedLog } from "../memory/shared-log.ts";
import { MemoryStore } from "../memory/store.ts";
import { NodeClock } from "../node/clock.ts";
import { ReplicatedLog } from "./commit-log.ts";
import type { Cursor } from "./fold.ts";

const mark = Buffer.from("\xfe mark", "latin1");
const settings = { claimMs: 150, claimStepMs: 20, leaseMs: 60, fenceMs: 80, beatMs: 20, pollMs: 20, retryMs: 5 };
let lives = 0;

function put(key: string, value = key): WriteOp {
  return { kind: "put", key: Buffer.from(key), value: Buffer.from(value) };
}

function textOf(store: { get(key: Bytes): Bytes | undefined }, key: string): string | undefined {
  const value = store.get(Buffer.from(key));
  return value && Buffer.from(value).toString();
}

/** A node whose view outlives it. */
async function startNode(name: string, shared: MemorySharedLog, view = new MemoryStore()) {
  const clock = new NodeClock();
  const log = await ReplicatedLog.open({
    log: shared,
    clock,
    writer: `${name} ${lives++}`,
    info: { node: name, address: name },
    cursor: storedCursor(view, mark) as Cursor | undefined,
    settings,
  });
  const store = await LoggedStore.open({ view, log, clock, mark });
  log.follow((position, parts) => store.ingest(position, parts));
  return { name, view, log, store, member: log.member };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 2));
}

test("a standby has what the owner commits, takes its place, and finds where it was after a restart", async () => {
  const shared = new MemorySharedLog(600);
  const first = await startNode("a", shared);
  await until(() => first.member.role === "owner");
  const second = await startNode("b", shared);
  await first.store.commit([put("x", "1")]);
  // Of several parts.
  await first.store.commit([put("y", "y".repeat(1_000))]);
  await until(() => textOf(second.store, "y") !== undefined);
  assert.equal(textOf(second.store, "x"), "1");
  await assert.rejects(second.store.commit([put("z")]), { kind: "fenced" });
  assert.equal(second.member.owner?.node, "a");

  await first.store.close();
  await until(() => second.member.role === "owner");
  await second.store.commit([put("x", "2"), { kind: "delete", key: Buffer.from("y") }]);
  const again = await startNode("a", shared, first.view);
  assert.equal(again.member.position, 2);
  await until(() => textOf(again.store, "x") === "2");
  assert.equal(textOf(again.store, "y"), undefined);
  await again.store.close();
  await second.store.close();
});

test("an owner that is deposed refuses what it had not written, and takes what the next one writes", async () => {
  const shared = new MemorySharedLog();
  const first = await startNode("a", shared);
  await until(() => first.member.role === "owner");
  await first.member.leave();
  const second = await startNode("b", shared);
  await until(() => second.member.role === "owner");
  await assert.rejects(first.store.commit([put("x", "1")]), { kind: "fenced" });
  await second.store.commit([put("x", "2")]);
  await until(() => textOf(first.store, "x") === "2");
  assert.equal(first.member.mayAnswer, false);
  await first.store.close();
  await second.store.close();
});

/** Another node trims it as soon as one has asked where it begins. */
class TrimmedBehind extends MemorySharedLog {
  trimmed = 0;

  override async bounds(): Promise<{ start: number; end: number }> {
    const found = await super.bounds();
    await this.trim(this.trimmed);
    return found;
  }
}

test("a log that is trimmed while its start is looked up is read from its new start", async () => {
  const shared = new TrimmedBehind();
  const first = await startNode("a", shared);
  await until(() => first.member.role === "owner");
  for (let i = 1; i <= 5; i++) await first.store.commit([put(`${i}`)]);
  const { start, end } = await shared.bounds();
  assert.equal(start, 0);
  shared.trimmed = end - 2;
  const positions: number[] = [];
  for await (const { position } of first.log.read(1)) positions.push(position);
  assert.equal(positions.at(-1), 5);
  assert.ok(positions.length < 5, `${positions}`);

  // A node that begins now learns the epoch and the position from what is left.
  shared.trimmed = end - 1;
  const options = { log: shared, clock: new NodeClock(), writer: "b", info: { node: "b", address: "b" }, settings };
  const second = await ReplicatedLog.open(options);
  assert.ok(second.end >= 5, `${second.end}`);
  await second.close();
  await first.store.close();
});
