import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../fault/random.ts";
import { CollectionModel, type ModelOp, Refused } from "../model/collection/model.ts";
import {
  type DocumentOperation,
  type DocumentOutput,
  documentFields,
  documentModel,
  type Found,
  settleWrites,
} from "./document-model.ts";
import { checkLinearizable, NotLinearizable } from "./linearize.ts";

const ids = [0, 1];

/**
 * What clients were told by documents that do one thing at a time. `openShare` of the writes have no answer; of these some
 * happened and some did not, and their process ended at a tenth of the history's length.
 */
function made(random: SeededRandom, count: number, openShare: number): DocumentOperation[] {
  const model = new CollectionModel(documentFields, "ignore");
  const operations: DocumentOperation[] = [];
  const spread = Math.min(5, count / 2);
  for (let at = 1; at <= count; at++) {
    // It takes effect at `at`, and was under way for a while around it.
    const [beganAt, endedAt] = [at - random.next() * spread, at + random.next() * spread];
    const client = `c${at}`;
    if (random.chance(0.45)) {
      const asked = random.chance(0.6) ? ids : [random.pick(ids)];
      const documents = asked.map((id) => shown(model, id));
      operations.push({
        client,
        beganAt,
        endedAt,
        input: { kind: "get", ids: asked },
        output: { kind: "found", documents },
      });
      continue;
    }
    const ops = opsOf(random, model, at);
    const input = { kind: "write", ops } as const;
    if (!random.chance(openShare)) {
      operations.push({ client, beganAt, endedAt, input, output: done(model, ops) });
      continue;
    }
    if (random.chance(0.5)) done(model, ops);
    const lifeLength = Math.max(1, count / 10);
    const lifeEnd = random.chance(0.2) ? Infinity : Math.ceil((at + 0.001) / lifeLength) * lifeLength;
    operations.push({ client, beganAt, endedAt: lifeEnd, input, output: undefined });
  }
  const documents = ids.map((id) => shown(model, id));
  const last = { client: "last", beganAt: count + 9, endedAt: count + 10 };
  operations.push({ ...last, input: { kind: "get", ids }, output: { kind: "found", documents } });
  return operations;
}

function opsOf(random: SeededRandom, model: CollectionModel, n: number): ModelOp[] {
  if (random.chance(0.2)) return ids.map((id) => ({ kind: "upsert", id, source: { n } }));
  const id = random.pick(ids);
  const version = model.documents.get(id)?.version ?? 0;
  const condition = random.chance(0.5) ? { if_version: random.chance(0.8) ? version : version + 1 } : {};
  const kind = random.pick(["upsert", "upsert", "patch", "insert", "delete"] as const);
  if (kind === "delete") return [{ kind, id, ...condition }];
  return [{ kind, id, source: kind === "patch" ? { patched: n } : { n }, ...condition }];
}

function done(model: CollectionModel, ops: readonly ModelOp[]): DocumentOutput {
  try {
    return { kind: "written", results: model.write(ops) };
  } catch (error) {
    assert.ok(error instanceof Refused);
    return { kind: "refused", reason: error.reason };
  }
}

function shown(model: CollectionModel, id: number): Found {
  const document = model.documents.get(id);
  const { n, patched } = (document?.source ?? {}) as { n?: number; patched?: number };
  return { id, version: document?.version ?? 0, n: patched ?? n };
}

/** The same history with one answer that another read, or nobody, got. */
function spoiled(random: SeededRandom, operations: readonly DocumentOperation[]): DocumentOperation[] {
  const reads = operations.filter(({ output }) => output?.kind === "found");
  const victim = random.pick(reads);
  assert.equal(victim.output?.kind, "found");
  const documents = victim.output.documents.map((each): Found => {
    const others = reads.flatMap(({ output }) => (output?.kind === "found" ? output.documents : []));
    const instead = random.pick(others.filter(({ id }) => id === each.id));
    return random.chance(0.2) ? { ...instead, version: (instead.version ?? 0) + 1 } : instead;
  });
  return operations.map((each) => (each === victim ? { ...each, output: { kind: "found", documents } } : each));
}

/** The definition itself: tries every order, without a memory and without any cleverness. */
function hasOrder(operations: readonly DocumentOperation[], state = documentModel.start, now = -Infinity): boolean {
  if (operations.every(({ output }) => output === undefined)) return true;
  return operations.some((operation, i) => {
    const at = Math.max(now, operation.beganAt);
    if (at > operation.endedAt) return false;
    const after = documentModel.step(state, operation.input, operation.output);
    return after !== undefined && hasOrder(operations.toSpliced(i, 1), after, at);
  });
}

function isAccepted(operations: readonly DocumentOperation[]): boolean {
  try {
    checkLinearizable(documentModel, operations);
    return true;
  } catch (error) {
    if (!(error instanceof NotLinearizable)) throw error;
    return false;
  }
}

test("the search agrees with the definition on short histories, settled or not", () => {
  const verdicts = { good: 0, bad: 0 };
  for (let seed = 1; seed <= 1_500; seed++) {
    const random = new SeededRandom(seed);
    const operations = made(random, random.between(2, 6), 0.4);
    const given = random.chance(0.7) ? spoiled(random, operations) : operations;
    const isGood = hasOrder(given);
    verdicts[isGood ? "good" : "bad"]++;
    assert.equal(isAccepted(given), isGood, `seed ${seed}`);
    assert.equal(isAccepted(settleWrites(given)), isGood, `seed ${seed}, settled`);
  }
  assert.ok(verdicts.good > 300 && verdicts.bad > 300, JSON.stringify(verdicts));
});

test("long histories with many open writes are decided, and one old answer in them is found", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed);
    const operations = made(random, 400, 0.2);
    const states = checkLinearizable(documentModel, settleWrites(operations));
    assert.ok(states < 100_000, `seed ${seed}: ${states} states`);
    const reads = operations.filter(
      ({ output, input }) => output?.kind === "found" && input.kind === "get" && input.ids.length === 2,
    );
    // Values that were overwritten long before.
    const stale = reads[40]!.output!;
    const broken = operations.map((each) => (each === reads.at(-2) ? { ...each, output: stale } : each));
    if (JSON.stringify(stale) === JSON.stringify(reads.at(-2)!.output)) continue;
    assert.throws(() => checkLinearizable(documentModel, settleWrites(broken)), NotLinearizable, `seed ${seed}`);
  }
});
