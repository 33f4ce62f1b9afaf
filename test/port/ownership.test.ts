import assert from "node:assert/strict";
import { rm, symlink } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { SingleOwnership } from "../../src/adapter/single/ownership.ts";
import type { Ownership } from "../../src/port/ownership.ts";
import { temporaryFolder } from "../support/process.ts";

let folder: string;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

/** Every adapter; two calls give two contenders for the same store. */
const adapters: Readonly<Record<string, () => Ownership>> = {
  single: () => new SingleOwnership(folder),
};

const never = new AbortController().signal;

for (const [name, open] of Object.entries(adapters)) {
  describe(`ownership on ${name}`, () => {
    test("it is gained by acquiring, once or twice, and lost by disposing", async () => {
      const ownership = open();
      assert.equal(ownership.isOwner, false);
      await ownership.acquire(never);
      await ownership.acquire(never);
      assert.equal(ownership.isOwner, true);
      await ownership[Symbol.asyncDispose]();
      assert.equal(ownership.isOwner, false);
      await ownership[Symbol.asyncDispose]();
    });

    test("there is one owner at a time", async () => {
      await using first = open();
      await first.acquire(never);
      await using second = open();
      await assert.rejects(() => second.acquire(never), /another process/);
      assert.deepEqual([first.isOwner, second.isOwner], [true, false]);
      await first[Symbol.asyncDispose]();
      await second.acquire(never);
      assert.equal(second.isOwner, true);
    });

    test("an epoch is a positive integer that does not fall from owner to owner", async () => {
      const first = open();
      await first.acquire(never);
      const { epoch } = first;
      assert.ok(Number.isSafeInteger(epoch) && epoch >= 1);
      await first[Symbol.asyncDispose]();
      await using second = open();
      await second.acquire(never);
      assert.ok(second.epoch >= epoch);
    });
  });
}

test("single: a folder is the same by every path to it, and another folder is another", async () => {
  const other = await temporaryFolder();
  const link = `${other}/link`;
  await symlink(folder, link);
  try {
    await using owner = new SingleOwnership(folder);
    await owner.acquire(never);
    await using contender = new SingleOwnership(link);
    await assert.rejects(() => contender.acquire(never), /another process/);
    await using elsewhere = new SingleOwnership(other);
    await elsewhere.acquire(never);
    assert.equal(elsewhere.isOwner, true);
  } finally {
    await rm(other, { recursive: true, force: true });
  }
});
