import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { StatementQueue } from "./statement-queue.ts";

const limits = { runningMax: 1, waitingMax: 4, waitMs: 1_000 };

/** Statements that work until they are told to end, and the order in which they were let in. */
class Statements {
  readonly clock = new SimulatedClock(0);
  readonly queue = new StatementQueue(limits, this.clock);
  readonly started: string[] = [];
  readonly refused: string[] = [];
  readonly #ends: (() => void)[] = [];

  run(name: string, namespace: number, signal?: AbortSignal): Promise<void> {
    return this.queue
      .begin(namespace, signal, () => {
        this.started.push(name);
        return new Promise<void>((resolve) => this.#ends.push(resolve));
      })
      .catch((error: Error) => {
        this.refused.push(`${name}: ${error.message}`);
      });
  }

  async endOne(): Promise<void> {
    await settled();
    this.#ends.shift()!();
    await settled();
  }
}

function settled(): Promise<void> {
  return new Promise(setImmediate);
}

test("namespaces take turns, and within one whoever waits longest goes next", async () => {
  const statements = new Statements();
  for (const name of ["a1", "a2", "a3", "a4"]) void statements.run(name, 1);
  void statements.run("b1", 2);
  assert.equal(statements.queue.waiting, 4);
  for (let i = 0; i < 5; i++) await statements.endOne();
  assert.deepEqual(statements.started, ["a1", "a2", "b1", "a3", "a4"]);
  assert.equal(statements.queue.running, 0);
});

test("when all places are taken, the longest line gives way to a shorter one", async () => {
  const statements = new Statements();
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) void statements.run(name, 1);
  void statements.run("a6", 1);
  void statements.run("b1", 2);
  void statements.run("b2", 2);
  void statements.run("b3", 2);
  await settled();
  assert.deepEqual(
    statements.refused.sort(),
    ["a4", "a5", "a6", "b3"].map((name) => `${name}: too many statements are queued; retry`),
  );
  assert.equal(statements.queue.waiting, 4);
  for (let i = 0; i < 5; i++) await statements.endOne();
  assert.deepEqual(statements.started, ["a1", "a2", "b1", "a3", "b2"]);
});

test("one that has waited too long is refused, one that works is not", async () => {
  const statements = new Statements();
  void statements.run("a1", 1);
  void statements.run("a2", 1);
  statements.clock.advance(limits.waitMs);
  await settled();
  assert.deepEqual(statements.refused, ["a2: the statement was queued for too long; retry"]);
  assert.equal(statements.queue.waiting, 0);
  await statements.endOne();
  assert.equal(statements.queue.running, 0);
});

test("one whose caller has gone leaves its place", async () => {
  const statements = new Statements();
  const gone = new AbortController();
  void statements.run("a1", 1);
  void statements.run("a2", 1, gone.signal);
  void statements.run("a3", 1);
  gone.abort(new Error("gone"));
  await settled();
  assert.deepEqual(statements.refused, ["a2: gone"]);
  await statements.endOne();
  assert.deepEqual(statements.started, ["a1", "a3"]);
});

test("a statement that has begun goes before those that have not, and is not refused", async () => {
  const statements = new Statements();
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) void statements.run(name, 1);
  const later = statements.queue.goOn(undefined, async () => {
    statements.started.push("later");
  });
  statements.clock.advance(limits.waitMs);
  await statements.endOne();
  await later;
  assert.deepEqual(statements.started, ["a1", "later"]);
  const gone = new AbortController();
  void statements.run("b1", 2);
  const left = statements.queue.goOn(gone.signal, async () => undefined);
  gone.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  assert.equal(statements.queue.waiting, 0);
});
