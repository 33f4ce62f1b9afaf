import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLogDisk } from "../../../test/support/memory-log-disk.ts";
import { StoreError } from "../../port/store.ts";
import { FileCommitLog } from "./commit-log.ts";
import { pageBytes } from "./format.ts";

const small = { segmentBytes: 6 * pageBytes, firstBytes: pageBytes, growBytes: 2 * pageBytes, pause: async () => {} };
const first = "segment-000000000001";
const second = "segment-000000000002";

/** Three entries in the first segment, of one, two and one pages, and two in the next. */
async function filled(): Promise<MemoryLogDisk> {
  const disk = new MemoryLogDisk();
  const log = await FileCommitLog.open(disk, small);
  for (const size of [10, 5_000, 10, 5_000, 10]) await log.append(Buffer.alloc(size, "e"));
  await log.close();
  return disk;
}

async function read(disk: MemoryLogDisk): Promise<number[]> {
  const log = await FileCommitLog.open(disk, small);
  const sizes: number[] = [];
  for await (const { bytes } of log.read(1)) sizes.push(bytes.length);
  await log.close();
  return sizes;
}

function isStoreError(kind: StoreError["kind"], message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof StoreError && error.kind === kind && message.test(error.message);
}

function flip(disk: MemoryLogDisk, name: string, at: number): void {
  const file = disk.files.get(name)!;
  file[at] = file[at]! ^ 1;
}

/** Proves: whichever byte of an entry is changed, the log is refused as long as another entry follows; the last one counts as torn. */
for (const [what, name, at, expected] of [
  ["a head", first, pageBytes + 30, /entry 1 in page 1 of segment 1 is damaged, and entry 2 follows/],
  ["a payload", first, 2 * pageBytes + 4_500, /entry 2 in page 2 of segment 1 is damaged, and entry 3 follows/],
  [
    "the last entry of a segment",
    first,
    4 * pageBytes + 45,
    /entry 3 in page 4 of segment 1 is damaged, and entry 4 follows/,
  ],
  ["the head of a segment", first, 20, /the head of segment 1 is damaged/],
] as const) {
  test(`damage of ${what} is told`, async () => {
    const disk = await filled();
    flip(disk, name, at);
    await assert.rejects(read(disk), isStoreError("damaged", expected));
  });
}

test("an entry at the end that was cut short is no entry, and its place is used again", async () => {
  const disk = await filled();
  flip(disk, second, 3 * pageBytes + 42);
  assert.deepEqual(await read(disk), [10, 5_000, 10, 5_000]);
  const log = await FileCommitLog.open(disk, small);
  assert.equal(await log.append(Buffer.alloc(7)), 5);
  await log.close();
  assert.deepEqual(await read(disk), [10, 5_000, 10, 5_000, 7]);
});

test("a missing segment and a segment of another log are told", async () => {
  const gone = await filled();
  const log = await FileCommitLog.open(gone, small);
  for (let i = 0; i < 6; i++) await log.append(Buffer.alloc(5_000));
  await log.close();
  gone.files.delete(second);
  await assert.rejects(read(gone), isStoreError("damaged", /segment 2 is missing/));
  const foreign = await filled();
  foreign.files.set(second, (await filled()).files.get(second)!);
  await assert.rejects(read(foreign), isStoreError("damaged", /segment 2 belongs to another log/));
});

test("damage at the start of a log that was trimmed names the page, since nobody knows the entry", async () => {
  const disk = await filled();
  disk.files.delete(first);
  flip(disk, second, pageBytes + 45);
  await assert.rejects(read(disk), isStoreError("damaged", /the entry in page 1 of segment 2 is damaged, and entry 5/));
});

test("what is on the disk is told with the file that waits for its next use", async () => {
  const disk = await filled();
  const log = await FileCommitLog.open(disk, small);
  log.trim(log.end);
  await log.close();
  assert.ok(disk.files.has("spare"));
  const again = await FileCommitLog.open(disk, small);
  const bytes = [...disk.files.values()].reduce((sum, { length }) => sum + length, 0);
  assert.deepEqual([log.diskBytes, again.diskBytes], [bytes, bytes]);
  await again.close();
});

test("a log that must be there is not made", async () => {
  const opening = FileCommitLog.open(new MemoryLogDisk(), { ...small, mayCreate: false });
  await assert.rejects(opening, isStoreError("damaged", /it is gone/));
});

test("a write that fails is refused, and does not come to light", async () => {
  for (const tornPages of [0, 1, 2]) {
    const disk = new MemoryLogDisk();
    const log = await FileCommitLog.open(disk, small);
    await log.append(Buffer.from("kept"));
    disk.tornPages = tornPages;
    const failing = () => {
      throw Object.assign(new Error("no room"), { code: "ENOSPC" });
    };
    disk.onChange = (what) => what === "write" && failing();
    await assert.rejects(log.append(Buffer.alloc(5_000, "r")), isStoreError("full", /no room/));
    disk.onChange = () => {};
    assert.deepEqual(await read(disk), [4]);
    assert.equal(await log.append(Buffer.from("later")), 2);
    await log.close();
    assert.deepEqual(await read(disk), [4, 5]);
  }
});

test("nobody is told of a failed write before it is certain that it is not there", async () => {
  const disk = new MemoryLogDisk();
  let clears = 0;
  const log = await FileCommitLog.open(disk, small);
  disk.tornPages = 2;
  disk.onChange = (what) => {
    if (what === "write") throw new Error("broken");
    if (what === "clear" && ++clears < 20) throw new Error("broken too");
  };
  await assert.rejects(log.append(Buffer.alloc(5_000)), isStoreError("failed", /broken/));
  assert.equal(clears, 20);
  assert.deepEqual(await read(disk), []);
});

test("without room for another segment an entry is refused, and taken once there is", async () => {
  const disk = new MemoryLogDisk();
  const log = await FileCommitLog.open(disk, small);
  disk.onChange = (what) => {
    if (what === "create" || what === "grow") throw Object.assign(new Error("no room"), { code: "ENOSPC" });
  };
  for (let i = 0; i < 5; i++) await log.append(Buffer.alloc(10));
  await assert.rejects(log.append(Buffer.alloc(10)), isStoreError("full", /no room/));
  disk.onChange = () => {};
  assert.equal(await log.append(Buffer.alloc(10)), 6);
  await log.close();
  assert.deepEqual(await read(disk), [10, 10, 10, 10, 10, 10]);
});

test("a segment that is no longer needed is used again, and what it held is not seen", async () => {
  const disk = new MemoryLogDisk();
  const log = await FileCommitLog.open(disk, small);
  const made: string[] = [];
  disk.onChange = (what, name) => what === "create" && void made.push(name);
  for (let i = 1; i <= 60; i++) {
    await log.append(Buffer.alloc(i));
    log.trim(i);
    await new Promise(setImmediate);
  }
  assert.ok(made.length <= 2, `${made.length} segments were made`);
  assert.ok(disk.files.size <= 4, `${[...disk.files.keys()]}`);
  await log.close();
  const again = await FileCommitLog.open(disk, small);
  assert.equal(again.end, 61);
  assert.ok(again.start > 40);
  await again.close();
});
