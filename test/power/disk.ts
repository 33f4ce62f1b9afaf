import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SeededRandom } from "../fault/random.ts";
import { DiskFile, type WriteLosses } from "./disk-file.ts";
import type { Entry } from "./journal.ts";

/**
 * The folder as a disk sees it: what was there at the start, and every change since with whether a sync covers it. From
 * that follows what a machine may find after its power failed:
 *
 * - A change that a sync covers is there. A file's sync covers its bytes and its size, a folder's sync the names in it.
 * - A write that none covers is there, is not, or is there in part: whole sectors of it (512 bytes) or pages (4096). Of one
 *   sector, what came later is there only with what came before.
 * - A name that was made, moved or removed is so or is as before; a move is never half done. Of one name, later changes are
 *   there only with earlier ones. What lies in a folder whose own name is lost is lost.
 */
export class Disk {
  readonly #root: string;
  readonly #files = new Map<number, DiskFile>();
  readonly #folders = new Map<number, string>();
  readonly #names: Names;
  readonly #changes: NameChange[] = [];
  readonly #pending = new Map<number, number>();
  #named: Names;

  /** The folder as it is now, all of it on the disk. */
  constructor(root: string) {
    this.#root = root;
    this.#names = new Map();
    this.#folders.set(statSync(root).ino, root);
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const { ino } = statSync(path);
      if (entry.isDirectory()) {
        this.#folders.set(ino, path);
        this.#names.set(path, "folder");
      } else {
        const file = new DiskFile(readFileSync(path));
        this.#files.set(ino, file);
        this.#names.set(path, file);
      }
    }
    this.#named = new Map(this.#names);
  }

  replay(entries: readonly Entry[]): void {
    for (const entry of entries) this.#replay(entry);
  }

  #replay(entry: Entry): void {
    switch (entry.kind) {
      case "opened":
        this.#opened(entry);
        break;
      case "write":
        this.#files.get(entry.inode)?.write(entry.at, entry.data, entry.synced);
        break;
      case "truncate":
        this.#files.get(entry.inode)?.resize(entry.bytes);
        break;
      case "unseen":
        this.#files.get(entry.inode)?.unseen();
        break;
      case "mkdir":
        this.#files.delete(entry.inode);
        this.#folders.set(entry.inode, entry.path);
        this.#change({ kind: "mkdir", path: entry.path });
        break;
      case "sync_begin":
        this.#pending.set(entry.number, this.#files.get(entry.inode)?.length ?? this.#changes.length);
        break;
      case "sync_end":
        this.#synced(entry.inode, this.#pending.get(entry.number) ?? 0);
        break;
      case "link": {
        const file = this.#named.get(entry.from);
        if (file !== undefined && file !== "folder") this.#change({ kind: "create", path: entry.to, file });
        break;
      }
      case "rename":
        this.#change({ kind: "rename", from: entry.from, to: entry.to });
        break;
      default:
        this.#change(entry);
    }
  }

  #opened({ path, inode, emptied }: Extract<Entry, { kind: "opened" }>): void {
    const there = this.#named.get(path);
    let file = this.#files.get(inode);
    if (file === undefined || there !== file) {
      // A new file, also where its inode was that of one which is gone.
      file = new DiskFile(Buffer.alloc(0));
      this.#files.set(inode, file);
      this.#change({ kind: "create", path, file });
    } else if (emptied) file.resize(0);
  }

  #change(change: NameChangeKind): void {
    this.#changes.push({ ...change, synced: false });
    applyName(this.#named, change);
  }

  #synced(inode: number, count: number): void {
    const file = this.#files.get(inode);
    file?.synced(count);
    if (file !== undefined) return;
    const folder = this.#folders.get(inode);
    for (const change of this.#changes.slice(0, count)) {
      if (namesOf(change).some((path) => dirname(path) === folder)) change.synced = true;
    }
  }

  /** What the folder holds if nothing is lost. */
  whole(): Contents {
    return contentsOf(this.#root, this.#named, (file) => file.whole());
  }

  /** Files that are written to past the journal, through a mapping or a stream. */
  unseenFiles(): ReadonlySet<string> {
    return new Set([...this.#named].flatMap(([path, what]) => (what !== "folder" && what.isUnseen ? [path] : [])));
  }

  /** What a machine may find after its power failed now, and what it lost. */
  afterPowerLoss(random: SeededRandom): { contents: Contents; losses: Losses } {
    const losses: Losses = { namesUnsynced: 0, namesLost: 0, writesUnsynced: 0, writesLost: 0, writesTorn: 0 };
    const kept = keptNames(this.#changes, random, losses);
    const names: Names = new Map(this.#names);
    for (const change of kept) applyName(names, change);
    const contents = contentsOf(this.#root, names, (file) => file.afterPowerLoss(random, losses));
    return { contents, losses };
  }

  /** Makes the folder hold these files and no others. */
  restore(contents: Contents): void {
    for (const name of readdirSync(this.#root)) rmSync(join(this.#root, name), { recursive: true, force: true });
    for (const [path, bytes] of contents) {
      if (bytes === "folder") mkdirSync(path);
      else writeFileSync(path, bytes);
    }
  }
}

/** By path; folders come before what is in them. */
export type Contents = ReadonlyMap<string, Buffer | "folder">;

export interface Losses extends WriteLosses {
  /** Changes of names that were not synced when the power failed, and those of them that are lost. */
  namesUnsynced: number;
  namesLost: number;
}

type Names = Map<string, DiskFile | "folder">;

type NameChangeKind =
  | { readonly kind: "create"; readonly path: string; readonly file: DiskFile }
  | { readonly kind: "mkdir" | "unlink" | "rmdir"; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string };

type NameChange = NameChangeKind & { synced: boolean };

function namesOf(change: NameChangeKind): string[] {
  return change.kind === "rename" ? [change.from, change.to] : [change.path];
}

function applyName(names: Names, change: NameChangeKind): void {
  switch (change.kind) {
    case "create":
      names.set(change.path, change.file);
      return;
    case "mkdir":
      names.set(change.path, "folder");
      return;
    case "unlink":
    case "rmdir":
      names.delete(change.path);
      return;
    case "rename": {
      const moved = [...names].filter(([path]) => path === change.from || path.startsWith(`${change.from}/`));
      for (const [path, what] of moved) {
        names.delete(path);
        names.set(change.to + path.slice(change.from.length), what);
      }
    }
  }
}

/**
 * The changes of names that the disk has: those that were synced, and of the others
 * none, some (each name by itself), or those up to a moment, as a file system with a journal keeps them.
 */
function keptNames(changes: readonly NameChange[], random: SeededRandom, losses: Losses): NameChange[] {
  const mode = random.pick(["none", "none", "some", "some", "until", "all"] as const);
  const moment = random.between(0, changes.length);
  const cut = new Set<string>();
  const needed = new Set<string>();
  // What came before a synced change of the same name is there too.
  for (const change of changes.toReversed()) {
    const names = namesOf(change);
    if (change.synced) for (const name of names) needed.add(name);
    else if (names.some((name) => needed.has(name))) change.synced = true;
  }
  return changes.filter((change, i) => {
    if (change.synced) return true;
    losses.namesUnsynced++;
    const names = namesOf(change);
    const wanted = mode === "all" || (mode === "some" && random.chance(0.5)) || (mode === "until" && i < moment);
    if (wanted && !names.some((name) => cut.has(name))) return true;
    for (const name of names) cut.add(name);
    losses.namesLost++;
    return false;
  });
}

/** Files without their folder are lost with it. */
function contentsOf(root: string, names: Names, bytesOf: (file: DiskFile) => Buffer | undefined): Contents {
  const contents = new Map<string, Buffer | "folder">();
  for (const [path, what] of [...names].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const above = dirname(path);
    if (above !== root && contents.get(above) !== "folder") continue;
    const bytes = what === "folder" ? what : bytesOf(what);
    if (bytes !== undefined) contents.set(path, bytes);
  }
  return contents;
}
