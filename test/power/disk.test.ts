import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { SeededRandom } from "../fault/random.ts";
import { type Contents, Disk } from "./disk.ts";
import type { Entry } from "./journal.ts";

const inode = 4_000_000_001;
const folderInode = 4_000_000_002;

describe("what a disk holds after the power failed", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "native-engine-disk-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** Every outcome of many seeds. */
  function outcomes(entries: readonly Entry[], seeds = 200): Contents[] {
    return Array.from({ length: seeds }, (_, seed) => {
      const disk = new Disk(root);
      disk.replay(entries);
      return disk.afterPowerLoss(new SeededRandom(seed)).contents;
    });
  }

  const text = (contents: Contents, name: string) => {
    const bytes = contents.get(join(root, name));
    return bytes === undefined || bytes === "folder" ? bytes : bytes.toString();
  };
  const write = (at: number, data: string, synced = false): Entry => {
    return { kind: "write", inode, at, data: Buffer.from(data), synced };
  };
  const opened = (name: string): Entry => ({ kind: "opened", inode, path: join(root, name), emptied: false });
  const sync = (of: number, number: number): Entry[] => [
    { kind: "sync_begin", inode: of, number },
    { kind: "sync_end", inode: of, number },
  ];
  const rootInode = () => statSync(root).ino;

  test("a file whose bytes and name were synced is whole", () => {
    const entries = [opened("a"), write(0, "hello"), ...sync(inode, 1), ...sync(rootInode(), 2)];
    for (const each of outcomes(entries)) assert.equal(text(each, "a"), "hello");
  });

  test("a file whose name was not synced may be gone", () => {
    const found = outcomes([opened("a"), write(0, "hello"), ...sync(inode, 1)]).map((each) => text(each, "a"));
    assert.deepEqual(new Set(found), new Set([undefined, "hello"]));
  });

  test("bytes that were not synced may be gone, or zeros", () => {
    const found = outcomes([opened("a"), ...sync(rootInode(), 1), write(0, "hello")]).map((each) => text(each, "a"));
    assert.deepEqual(new Set(found), new Set(["", "hello", "\0\0\0\0\0"]));
  });

  test("a write that comes while a sync is under way is not covered by it", () => {
    const [begin, end] = sync(inode, 1);
    const entries = [opened("a"), ...sync(rootInode(), 2), begin!, write(0, "hello"), end!];
    assert.ok(outcomes(entries).some((each) => text(each, "a") === ""));
  });

  test("a write through a synchronous descriptor is there by itself", () => {
    const entries = [opened("a"), ...sync(rootInode(), 2), write(8192, "later"), write(0, "hello", true)];
    for (const each of outcomes(entries)) assert.equal(text(each, "a")?.slice(0, 5), "hello");
    assert.ok(outcomes(entries).some((each) => text(each, "a") === "hello"));
  });

  test("a large write is torn between sectors, never within one", () => {
    const large = "x".repeat(2048);
    const entries = [opened("a"), ...sync(rootInode(), 1), write(0, large)];
    const found = outcomes(entries).map((each) => text(each, "a")!);
    assert.ok(found.some((each) => each.includes("x") && each !== large));
    for (const each of found) {
      for (let at = 0; at < each.length; at += 512) assert.equal(new Set(each.slice(at, at + 512)).size, 1);
    }
  });

  test("of one sector, a later write is there only with the earlier one", () => {
    const entries = [opened("a"), ...sync(rootInode(), 1), write(0, "aaaa"), write(2, "bb")];
    const found = new Set(outcomes(entries).map((each) => text(each, "a")!.replaceAll("\0", "")));
    assert.deepEqual(found, new Set(["", "aaaa", "aabb"]));
  });

  test("a move is done or not, and never half", () => {
    writeFileSync(join(root, "a"), "old");
    const from = join(root, "a.partial");
    const written = [opened("a.partial"), write(0, "new"), ...sync(inode, 1)];
    const moved = outcomes([...written, { kind: "rename", from, to: join(root, "a") }]);
    const found = moved.map((each) => `${text(each, "a")} ${text(each, "a.partial")}`);
    assert.deepEqual(new Set(found), new Set(["old undefined", "old new", "new undefined"]));
  });

  test("what lies in a folder whose name is lost is lost, though it was synced", () => {
    const path = join(root, "f");
    const entries: Entry[] = [
      { kind: "mkdir", inode: folderInode, path },
      opened("f/a"),
      write(0, "hello"),
      ...sync(inode, 1),
      ...sync(folderInode, 2),
    ];
    const found = new Set(outcomes(entries).map((each) => `${text(each, "f")} ${text(each, "f/a")}`));
    assert.deepEqual(found, new Set(["undefined undefined", "folder hello"]));
  });

  test("a removal that was not synced may be undone", () => {
    writeFileSync(join(root, "a"), "old");
    const found = outcomes([{ kind: "unlink", path: join(root, "a") }]).map((each) => text(each, "a"));
    assert.deepEqual(new Set(found), new Set([undefined, "old"]));
  });

  test("a folder is made to hold what is left", () => {
    writeFileSync(join(root, "a"), "old");
    const disk = new Disk(root);
    disk.restore(
      new Map<string, Buffer | "folder">([
        [join(root, "f"), "folder"],
        [join(root, "f/b"), Buffer.from("new")],
      ]),
    );
    assert.equal(readFileSync(join(root, "f/b"), "utf8"), "new");
    assert.throws(() => readFileSync(join(root, "a")));
  });
});
