import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "../fault/random.ts";
import type { ModelOp } from "../model/collection/model.ts";
import { type DocumentInput, type DocumentOutput, documentModel, type Found } from "./document-model.ts";
import { checkLinearizable, NotLinearizable, type Operation } from "./linearize.ts";
import { type PartitionInput, type PartitionOutput, partitionModel, settleAppends } from "./partition-model.ts";

function operation<Input, Output>(
  [beganAt, endedAt]: readonly [number, number],
  input: Input,
  output: Output | undefined,
): Operation<Input, Output> {
  return { client: "c", beganAt, endedAt, input, output };
}

type Interval = readonly [number, number];
type PartitionOperation = Operation<PartitionInput, PartitionOutput>;
type DocumentOperation = Operation<DocumentInput, DocumentOutput>;

const append = (when: Interval, values: readonly string[], base: number | undefined, matchOffset?: number) =>
  operation<PartitionInput, PartitionOutput>(
    when,
    { kind: "append", values, matchOffset },
    base === undefined ? undefined : { kind: "appended", base, last: base + values.length - 1 },
  );
const refused = (when: Interval, values: readonly string[], matchOffset: number, end: number) =>
  operation<PartitionInput, PartitionOutput>(when, { kind: "append", values, matchOffset }, { kind: "conflict", end });
const fetched = (when: Interval, offset: number, values: readonly string[], end = offset + values.length) =>
  operation<PartitionInput, PartitionOutput>(when, { kind: "fetch", offset }, { kind: "page", values, end });
const ended = (when: Interval, end: number) =>
  operation<PartitionInput, PartitionOutput>(when, { kind: "end" }, { kind: "end", end });

describe("histories of a partition", () => {
  const good: Record<string, PartitionOperation[]> = {
    "one after another": [append([0, 1], ["a"], 0), append([2, 3], ["b", "c"], 1), fetched([4, 5], 0, ["a", "b", "c"])],
    "a read beside an append sees it or not": [
      append([0, 1], ["a"], 0),
      append([2, 9], ["b"], 1),
      fetched([3, 4], 0, ["a"]),
      fetched([5, 6], 0, ["a", "b"]),
    ],
    "offsets in another order than the beginnings": [append([0, 9], ["a"], 1), append([1, 9], ["b"], 0)],
    "one of two compares wins": [append([0, 9], ["a"], 0, 0), refused([1, 9], ["b"], 0, 1), ended([10, 11], 1)],
    "an append without an answer that landed": [append([0, 5], ["a"], undefined), fetched([6, 7], 0, ["a"])],
    "an append without an answer that did not land": [append([0, 5], ["a"], undefined), fetched([6, 7], 0, [])],
    "an append without an answer that lands late": [
      append([0, Infinity], ["a"], undefined),
      fetched([6, 7], 0, []),
      append([8, 9], ["b"], 0),
      fetched([10, 11], 0, ["b", "a"]),
    ],
    "a page that ends early": [append([0, 1], ["a", "b"], 0), fetched([2, 3], 0, ["a"], 2)],
  };
  const bad: Record<string, PartitionOperation[]> = {
    "a stale read": [append([0, 1], ["a"], 0), append([2, 3], ["b"], 1), fetched([4, 5], 0, ["a"])],
    "a stale end": [append([0, 1], ["a"], 0), ended([2, 3], 0)],
    "a read that goes back": [
      append([0, 1], ["a"], 0),
      append([2, 20], ["b"], 1),
      fetched([3, 4], 0, ["a", "b"]),
      fetched([5, 6], 0, ["a"]),
    ],
    "a lost acknowledged append": [append([0, 1], ["a"], 0), append([2, 3], ["b"], 0), fetched([4, 5], 0, ["b"])],
    "two compares of one offset that both succeed": [append([0, 9], ["a"], 0, 0), append([1, 9], ["b"], 0, 0)],
    "a compare that fails though it matches": [append([0, 1], ["a"], 0), refused([2, 3], ["b"], 1, 1)],
    "a value that nobody wrote": [append([0, 1], ["a"], 0), fetched([2, 3], 0, ["x"])],
    "a torn batch": [append([0, 5], ["a", "b"], undefined), fetched([6, 7], 0, ["a"])],
    "a torn batch beside a reader": [append([0, 9], ["a", "b"], 0), fetched([1, 2], 0, ["a"])],
    "an append that lands after the end of its process": [
      append([0, 5], ["a"], undefined),
      fetched([6, 7], 0, []),
      fetched([8, 9], 0, ["a"]),
    ],
    "an empty page before the end": [append([0, 1], ["a"], 0), fetched([2, 3], 0, [], 1)],
    "a hole in the offsets": [append([0, 1], ["a"], 0), append([2, 3], ["b"], 2)],
  };

  for (const [what, operations] of Object.entries(good)) {
    test(`accepted: ${what}`, () => assert.ok(checkLinearizable(partitionModel, operations) > 0));
  }
  for (const [what, operations] of Object.entries(bad)) {
    test(`rejected: ${what}`, () => {
      assert.throws(() => checkLinearizable(partitionModel, operations), NotLinearizable);
    });
  }

  test("open appends are settled by the last read, and the verdict stays the same", () => {
    for (const [histories, isGood] of [
      [good, true],
      [bad, false],
    ] as const) {
      for (const [what, operations] of Object.entries(histories)) {
        const last = operations.findLast(({ output }) => output?.kind === "page");
        if (last?.output?.kind !== "page" || last.output.values.length < last.output.end) continue;
        const settled = settleAppends(operations, last.output.values);
        assert.ok(settled.every(({ output }) => output !== undefined));
        if (isGood) checkLinearizable(partitionModel, settled);
        else assert.throws(() => checkLinearizable(partitionModel, settled), NotLinearizable, what);
      }
    }
  });
});

const write = (when: Interval, ops: readonly ModelOp[], statuses: readonly (readonly [string, number])[] | undefined) =>
  operation<DocumentInput, DocumentOutput>(
    when,
    { kind: "write", ops },
    statuses && {
      kind: "written",
      results: statuses.map(([status, version], i) => ({ id: ops[i]!.id, status, version })),
    },
  );
const got = (when: Interval, documents: readonly Found[]) =>
  operation<DocumentInput, DocumentOutput>(
    when,
    { kind: "get", ids: documents.map(({ id }) => id) },
    { kind: "found", documents },
  );
const put = (id: number, n: number, ifVersion?: number): ModelOp => {
  return { kind: "upsert", id, source: { n }, ...(ifVersion === undefined ? {} : { if_version: ifVersion }) };
};
const doc = (id: number, version: number, n?: number): Found => ({ id, version, n });

describe("histories of documents", () => {
  const made = write(
    [0, 1],
    [put(1, 10), put(2, 10)],
    [
      ["created", 1],
      ["created", 1],
    ],
  );
  const good: Record<string, DocumentOperation[]> = {
    "a batch and a read": [made, got([2, 3], [doc(1, 1, 10), doc(2, 1, 10)])],
    "one of two conditions holds": [
      made,
      write([2, 9], [put(1, 11, 1)], [["updated", 2]]),
      write([3, 9], [put(1, 12, 1)], [["condition_failed", 2]]),
      got([10, 11], [doc(1, 2, 11)]),
    ],
    "a write without an answer, between two others": [
      made,
      write([2, 5], [put(1, 11)], undefined),
      write([6, 7], [put(1, 12)], [["updated", 3]]),
    ],
    "an insert that is refused": [
      made,
      operation(
        [2, 3],
        { kind: "write", ops: [{ kind: "insert", id: 1, source: { n: 1 } }] },
        {
          kind: "refused",
          reason: "already_exists",
        },
      ),
    ],
    "a delete, and a new document": [
      made,
      write([2, 3], [{ kind: "delete", id: 1 }], [["deleted", 2]]),
      got([4, 5], [doc(1, 0)]),
      write([6, 7], [put(1, 13)], [["created", 1]]),
    ],
  };
  const bad: Record<string, DocumentOperation[]> = {
    "a stale read": [made, write([2, 3], [put(1, 11)], [["updated", 2]]), got([4, 5], [doc(1, 1, 10)])],
    "a lost acknowledged write": [made, got([2, 3], [doc(1, 0), doc(2, 0)])],
    "two conditions on one version that both hold": [
      made,
      write([2, 9], [put(1, 11, 1)], [["updated", 2]]),
      write([3, 9], [put(1, 12, 1)], [["updated", 2]]),
    ],
    "a value that nobody wrote": [made, got([2, 3], [doc(1, 1, 99)])],
    "a torn batch": [write([0, 5], [put(1, 10), put(2, 10)], undefined), got([6, 7], [doc(1, 1, 10), doc(2, 0)])],
    "a batch of which a reader sees half": [{ ...made, endedAt: 9 }, got([2, 3], [doc(1, 1, 10), doc(2, 0)])],
    "a version that is skipped": [made, write([2, 3], [put(1, 11)], [["updated", 3]])],
    "a refusal without a reason": [
      operation(
        [2, 3],
        { kind: "write", ops: [{ kind: "insert", id: 1, source: { n: 1 } }] },
        {
          kind: "refused",
          reason: "already_exists",
        },
      ),
    ],
  };
  for (const [what, operations] of Object.entries(good)) {
    test(`accepted: ${what}`, () => assert.ok(checkLinearizable(documentModel, operations) > 0));
  }
  for (const [what, operations] of Object.entries(bad)) {
    test(`rejected: ${what}`, () => {
      assert.throws(() => checkLinearizable(documentModel, operations), NotLinearizable);
    });
  }
});

/** Appends of several clients at once to a log that does one thing at a time, as a real server would answer them. */
function made(random: SeededRandom, count: number): PartitionOperation[] {
  const log: string[] = [];
  const operations: PartitionOperation[] = [];
  for (let at = 1; at <= count; at++) {
    // It takes effect at `at`, and was under way for a while around it.
    const when = [at - random.next() * 6, at + random.next() * 6] as const;
    if (random.chance(0.4)) {
      operations.push(fetched(when, 0, [...log]));
      continue;
    }
    const values = Array.from({ length: random.between(1, 3) }, (_, i) => `${at}.${i}`);
    const match = random.chance(0.5) ? random.between(Math.max(0, log.length - 2), log.length) : undefined;
    if (match !== undefined && match !== log.length) {
      operations.push(refused(when, values, match, log.length));
      continue;
    }
    operations.push(append(when, values, random.chance(0.1) ? undefined : log.length, match));
    log.push(...values);
  }
  operations.push(fetched([count + 10, count + 11], 0, [...log]));
  return operations;
}

test("what a correct log answers is accepted, and one wrong answer in it is not", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new SeededRandom(seed);
    const operations = made(random, 120);
    checkLinearizable(partitionModel, operations);
    const reads = operations.filter(({ output }) => output?.kind === "page" && output.values.length > 20);
    const wrong = random.pick(reads);
    assert.equal(wrong.output?.kind, "page");
    // Far older than anything that was under way with it.
    const values = wrong.output.values.slice(0, -18);
    const stale = { ...wrong, output: { kind: "page", values, end: values.length } } as const;
    const broken = operations.map((each) => (each === wrong ? stale : each));
    assert.throws(() => checkLinearizable(partitionModel, broken), NotLinearizable, `seed ${seed}`);
  }
});
