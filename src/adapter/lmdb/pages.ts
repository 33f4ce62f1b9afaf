import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/**
 * Looks at the structure of LMDB's file before LMDB maps it. LMDB trusts its pages: a damaged one can end the process
 * with a failed assertion or a read outside the file, again at every start. Here the same damage is a message.
 *
 * page   24 bytes: u64 own number · u64 transaction · u16 pad · u16 flags · u16 lower · u16 upper, then u16 node
 *        positions, counted from the end of the header; nodes fill the page from its end
 * node   u16 low · u16 high · u16 flags · u16 key length · key, then in a leaf the value
 *        branch: low, high and flags are the child's page number. leaf: low and high are the value's length
 *        a large value is three u64 in place: its first page, transaction, page count
 * meta   pages 0 and 1, after the header: u32 magic · u32 version · u64 address · u64 map size
 *        · tree of free pages · main tree · u64 last page · u64 transaction
 * tree   48 bytes: u32 page size · u16 flags · u16 depth · u64 branch, leaf and overflow pages · u64 entries · u64 root
 */
const headerBytes = 24;
const metaBytes = 160;
const metaMagic = 0xbeefc0de;
const metaVersion = 2;
const flagIntegerKeys = 0x08;
/** Far above what a machine can map, far below what a damaged number usually is. */
const pagesMax = 2 ** 34;
const noPage = 2 ** 64;
const flagBranch = 0x01;
const flagLeaf = 0x02;
const flagMeta = 0x08;
const kindMask = 0x6f;
const nodeFixedBytes = 8;
const nodeBig = 0x01;
const bigValueBytes = 24;
const depthMax = 32;

/** What is wrong, in words; the caller adds what to do. */
export class PageDamage extends Error {}

export interface PageReport {
  readonly pagesChecked: number;
  /** False when the limit was reached before the last page. */
  readonly complete: boolean;
}

/** How far the check goes: `pages` always, more of them while the time lasts. */
export interface PageBudget {
  readonly pages: number;
  readonly morePages: number;
  readonly moreMs: number;
}

interface Tree {
  readonly name: string;
  readonly root: number;
  readonly depth: number;
  readonly flags: number;
  readonly ordered: boolean;
}

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly trees: readonly Tree[];
}

/** Checks pages of both trees, from the roots down, without reading any large value. Throws PageDamage. */
export function checkPages(path: string, budget: PageBudget): PageReport {
  const file = openSync(path, "r");
  try {
    const fileBytes = fstatSync(file).size;
    const meta = readNewestMeta(file, fileBytes);
    const filePages = Math.floor(fileBytes / meta.pageBytes);
    // A file may end early where its last pages are free. Whether they are is only known from looking at all others.
    const walk = new Walk(file, meta, filePages, filePages <= meta.lastPage ? everyPage : budget);
    for (const tree of meta.trees) walk.tree(tree);
    return { pagesChecked: walk.checked, complete: walk.complete };
  } finally {
    closeSync(file);
  }
}

/** However many there are. */
export const everyPage: PageBudget = { pages: Infinity, morePages: 0, moreMs: 0 };

function readNewestMeta(file: number, fileBytes: number): Meta {
  const first = readMeta(file, 0, 0, fileBytes);
  const second = readMeta(file, 1, first.pageBytes, fileBytes);
  const newest = second.transaction > first.transaction ? second : first;
  if (first.pageBytes !== second.pageBytes) throw new PageDamage("its meta pages disagree");
  // One transaction writes one meta page, so the two are never further apart.
  if (Math.abs(first.transaction - second.transaction) > 1) throw new PageDamage("its meta pages disagree");
  return newest;
}

function readMeta(file: number, page: number, position: number, fileBytes: number): Meta {
  const bytes = Buffer.alloc(headerBytes + metaBytes);
  if (readSync(file, bytes, 0, bytes.length, position) < bytes.length) throw new PageDamage("it is cut off");
  const at = headerBytes;
  if ((bytes.readUInt16LE(18) & flagMeta) === 0 || bytes.readUInt32LE(at) !== metaMagic) {
    throw new PageDamage(page === 0 ? "it is no LMDB file, or its first page is damaged" : "a meta page is damaged");
  }
  const pageBytes = bytes.readUInt32LE(at + 24);
  const powerOfTwo = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
  const free = readTree(bytes, at + 24, "free pages", false);
  const main = readTree(bytes, at + 72, "entries", true);
  const mapBytes = readU64(bytes, at + 16);
  const lastPage = readU64(bytes, at + 120);
  const sound =
    powerOfTwo &&
    fileBytes >= 2 * pageBytes &&
    readU64(bytes, 0) === page &&
    bytes.readUInt32LE(at + 4) === metaVersion &&
    readU64(bytes, at + 8) === 0 &&
    mapBytes % pageBytes === 0 &&
    mapBytes / pageBytes < pagesMax &&
    lastPage >= 1 &&
    lastPage < pagesMax &&
    (free.flags & flagIntegerKeys) !== 0 &&
    main.flags === 0 &&
    [free, main].every(({ root, depth }) =>
      root === noPage ? depth === 0 : root >= 2 && root <= lastPage && depth >= 1 && depth <= depthMax,
    );
  if (!sound) throw new PageDamage("a meta page is damaged");
  return { pageBytes, lastPage, transaction: readU64(bytes, at + 128), trees: [main, free] };
}

function readTree(bytes: Buffer, at: number, name: string, ordered: boolean): Tree {
  const flags = bytes.readUInt16LE(at + 4);
  return { name, flags, depth: bytes.readUInt16LE(at + 6), root: readU64(bytes, at + 40), ordered };
}

/** As a number: exact up to 2^53, beyond which no page number is valid anyway. */
function readU64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

class Walk {
  readonly #file: number;
  readonly #meta: Meta;
  readonly #filePages: number;
  readonly #bytes: Buffer;
  readonly #budget: PageBudget;
  readonly #startedMs = performance.now();
  checked = 0;
  complete = true;

  constructor(file: number, meta: Meta, filePages: number, budget: PageBudget) {
    this.#file = file;
    this.#meta = meta;
    this.#filePages = filePages;
    this.#bytes = Buffer.alloc(meta.pageBytes);
    this.#budget = budget;
  }

  /** Level by level: the upper pages, through which every read goes, come first. */
  tree(tree: Tree): void {
    if (tree.root === noPage) return;
    let level = [tree.root];
    for (let depth = 1; depth <= tree.depth && level.length > 0; depth++) {
      const below: number[] = [];
      for (const page of level) {
        if (this.#spent()) {
          this.complete = false;
          return;
        }
        this.checked++;
        this.#page(tree, page, depth === tree.depth, below);
      }
      level = below;
    }
  }

  #spent(): boolean {
    const { pages, morePages, moreMs } = this.#budget;
    if (this.checked < pages) return false;
    return this.checked >= pages + morePages || performance.now() - this.#startedMs > moreMs;
  }

  #page(tree: Tree, page: number, isLeaf: boolean, below: number[]): void {
    const bytes = this.#bytes;
    const { pageBytes } = this.#meta;
    this.#inFile(tree, page, 1);
    if (readSync(this.#file, bytes, 0, pageBytes, page * pageBytes) < pageBytes) throw broken(tree, page, "is cut off");
    const lower = bytes.readUInt16LE(20);
    const upper = bytes.readUInt16LE(22);
    const kind = bytes.readUInt16LE(18) & kindMask;
    if (readU64(bytes, 0) !== page || kind !== (isLeaf ? flagLeaf : flagBranch)) {
      throw broken(tree, page, "is not the page that belongs there");
    }
    const nodes = lower >> 1;
    const outside = lower % 2 !== 0 || lower > upper || upper > pageBytes - headerBytes;
    if (outside || nodes < (isLeaf ? 1 : 2)) throw broken(tree, page, "has no valid bounds");
    let previous: Buffer | undefined;
    for (let i = 0; i < nodes; i++) {
      const at = headerBytes + bytes.readUInt16LE(headerBytes + 2 * i);
      if (at < headerBytes + upper || at + nodeFixedBytes > pageBytes) throw broken(tree, page, "has a stray entry");
      const keyEnd = at + nodeFixedBytes + bytes.readUInt16LE(at + 6);
      if (keyEnd > pageBytes) throw broken(tree, page, "has a stray key");
      if (isLeaf) this.#value(tree, page, at, keyEnd);
      else below.push(this.#child(tree, page, at));
      if (!tree.ordered || (!isLeaf && i === 0)) continue;
      const key = bytes.subarray(at + nodeFixedBytes, keyEnd);
      if (previous !== undefined && Buffer.compare(previous, key) >= 0) throw broken(tree, page, "is out of order");
      previous = key;
    }
  }

  #child(tree: Tree, page: number, at: number): number {
    const child = this.#bytes.readUInt32LE(at) + this.#bytes.readUInt16LE(at + 4) * 2 ** 32;
    if (child < 2 || child > this.#meta.lastPage) throw broken(tree, page, "points outside the file");
    return child;
  }

  #value(tree: Tree, page: number, at: number, keyEnd: number): void {
    const bytes = this.#bytes;
    const { pageBytes } = this.#meta;
    const length = bytes.readUInt32LE(at);
    const flags = bytes.readUInt16LE(at + 4);
    if ((flags & ~nodeBig) !== 0) throw broken(tree, page, "has an entry of an unknown kind");
    if (keyEnd + (flags === nodeBig ? bigValueBytes : length) > pageBytes)
      throw broken(tree, page, "has a stray value");
    if (flags !== nodeBig) return;
    const needed = Math.floor((headerBytes - 1 + length) / pageBytes) + 1;
    // A value that replaced a longer one keeps its pages.
    const pages = readU64(bytes, keyEnd + 16);
    if (pages < needed) throw broken(tree, page, "has a value of a wrong length");
    this.#inFile(tree, readU64(bytes, keyEnd), pages);
  }

  #inFile(tree: Tree, page: number, pages: number): void {
    if (page < 2 || page + pages - 1 > this.#meta.lastPage) throw broken(tree, page, "lies outside the file");
    if (page + pages > this.#filePages) throw broken(tree, page, "is missing: the file is cut off");
  }
}

function broken(tree: Tree, page: number, what: string): PageDamage {
  return new PageDamage(`page ${page} of its tree of ${tree.name} ${what}`);
}
