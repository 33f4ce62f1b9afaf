import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseFilterField, parseOps } from "../../src/edge/rest/documents/json.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { parseFields } from "../../src/engine/schema/schema-parse.ts";
import { answersOf } from "./follower/answers.ts";
import { Pair } from "./follower/pair.ts";
import { first, type Step, steps } from "./follower/steps.ts";

/** What is refused is a change too: of nothing. */
async function run(pair: Pair, step: Step): Promise<void> {
  try {
    await step(pair.owner);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    assert.notEqual(error.reason, "internal", error.message);
  }
}

async function check(pair: Pair, hasSql: boolean): Promise<void> {
  const fresh = pair.fresh();
  try {
    assert.deepEqual(await answersOf(pair.follower, hasSql), await answersOf(fresh, hasSql));
  } finally {
    await fresh.stop();
  }
}

/**
 * Proves: after any changes of all kinds, be it in one commit, and whatever the owner does in its background, an engine that was told of each
 * commit answers every read as one does that has just been opened over the same store.
 */
function agrees(hasSql: boolean) {
  return fc.asyncProperty(steps, fc.infiniteStream(fc.constantFrom(0, 300, 2_000)), async (all, pauses) => {
    await using pair = await Pair.start();
    for (const step of first) await step(pair.owner);
    for (const together of all) {
      await Promise.all(together.map((step) => run(pair, step)));
      await pair.settle(pauses.next().value as number);
      await check(pair, hasSql);
    }
    assert.deepEqual(pair.errors, []);
  });
}

test("one who follows answers as one who has just been opened", () => {
  return fc.assert(agrees(false), { numRuns: 60, seed: 21, interruptAfterTimeLimit: 60_000 });
});

test("the same in SQL", () => fc.assert(agrees(true), { numRuns: 5, seed: 22, interruptAfterTimeLimit: 60_000 }));

/** A follower with a stream, a collection that a link fills from it, and all of it known there. */
async function filled(): Promise<Pair> {
  const pair = await Pair.start();
  for (const step of first) await step(pair.owner);
  await pair.settle(0);
  return pair;
}

const fetched = { namespace: "n", stream: "a", partition: 0, from: { offset: 0 }, waitMs: 60_000, token: [] };
const appended = { namespace: "n", stream: "a", partition: 0 };

test("who waits at one who follows is woken by the other's append, and by the end of the stream", async () => {
  await using pair = await filled();
  const polled = pair.follower.streams.fetch(fetched);
  await pair.owner.streams.append({ ...appended, records: [{ value: Buffer.from("{}") }] });
  assert.equal((await polled).highWatermark, 1);
  const late = pair.follower.streams.fetch({ ...fetched, from: { offset: 1 } });
  const refused = assert.rejects(late, /does not exist/);
  await pair.owner.links.delete("n", "k");
  await pair.owner.streams.drop({ namespace: "n", stream: "a" });
  await refused;
});

test("a token is waited for, of a link's source too, where the other does the work", async () => {
  await using pair = await filled();
  const { follower, owner } = pair;
  const { signal } = new AbortController();
  const stream = owner.metastore.stream("n", "a").id;
  const token = [{ stream, partition: 0, offset: 0 }];
  const unheard = [{ stream: stream + 1_000, partition: 0, offset: 0 }];
  // Nothing was ever written there: the owner knows why.
  assert.equal(await follower.reaches(token, signal), false);
  await owner.streams.append({ ...appended, records: [{ value: Buffer.from('{"id":7,"body":"one","tag":"a"}') }] });
  const later = [{ stream, partition: 0, offset: 1 }];
  const reached = follower.reaches(later, signal);
  const found = follower.documents.get({ namespace: "n", collection: "c" }, [7, 8], { token: later, eventual: true });
  await owner.streams.append({ ...appended, records: [{ value: Buffer.from('{"id":8,"body":"one","tag":"a"}') }] });
  assert.equal(await reached, true);
  assert.deepEqual(
    (await found).documents.map((each) => each?.id),
    [7, 8],
  );
  assert.equal(await follower.reaches(unheard, AbortSignal.timeout(20)), false);
});

test("one who follows goes over to what the other has built, and lets go of what it drops", async () => {
  await using pair = await filled();
  const { follower, owner } = pair;
  const ref = { namespace: "n", collection: "c" };
  const token = [{ stream: owner.metastore.stream("n", "a").id, partition: 0, offset: 0 }];
  await follower.documents.count(ref, undefined, { token: [], eventual: true });
  await owner.streams.append({ ...appended, records: [{ value: Buffer.from('{"id":7,"body":"one","tag":"a"}') }] });
  assert.equal((await follower.documents.count(ref, undefined, { token, eventual: false })).count, 1);
  for (let i = 0; i < 20 && follower.collections.get("n", "c").manifest.segments.length === 0; i++)
    await pair.settle(2_000);
  assert.equal((await follower.documents.count(ref, undefined, { token: [], eventual: true })).count, 1);
  await owner.collections.drop("n", "c");
  await pair.settle(0);
  assert.deepEqual([...follower.backlogs()], []);
});

test("one who follows knows new fields before the documents that have them", async () => {
  await using pair = await filled();
  const { follower, owner } = pair;
  const ref = { namespace: "n", collection: "c" };
  await follower.documents.count(ref, undefined, { token: [], eventual: true });
  const field = { name: "x", source_path: "x", kind: { keyword: {} }, indexed: true };
  await owner.collections.addFields("n", "c", parseFields("fields", [field]), undefined);
  const { schema } = owner.documents.find(ref);
  const ops = await parseOps([{ upsert: { id: 1, source: { x: "here" } } }], schema);
  const { token } = await owner.documents.write(ref, ops, 100);
  const filter = parseFilterField("filter", { term: { x: "here" } }, schema);
  assert.equal((await follower.documents.count(ref, filter, { token, eventual: false })).count, 1);
});
