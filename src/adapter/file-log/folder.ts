import {
  close,
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
  writev,
  writevSync,
} from "node:fs";
import { type FileHandle, open, rename, rm, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { syncFolder, syncFolderNow } from "../../port/sync-folder.ts";
import type { LogDisk, LogFile } from "./disk.ts";
import { pageBytes, zeroPage } from "./format.ts";

/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

const pieceBytes = 1024 * 1024;

/** When a page is written on the calling thread, and when on another. */
export const writeLimits = {
  /** Write synchronously while the mean latency stays below this. */
  waitMs: 0.5,
  /** Weight of the last write in the mean. */
  meanShare: 1 / 32,
  /** Writes that go to the thread pool once the mean was above. */
  pooledWrites: 1_000,
} as const;

/** The folder of a commit log on a real disk. */
export class LogFolder implements LogDisk {
  readonly #path: string;
  readonly #mayBypass: boolean;

  /** `mayBypass`: single pages may be written past the page cache. */
  constructor(path: string, mayBypass = true) {
    this.#path = path;
    this.#mayBypass = mayBypass;
    mkdirSync(path, { recursive: true, mode: 0o700 });
    // Also where an earlier start has made it: that one may have ended before it was on the disk.
    syncFolderNow(dirname(path));
  }

  list(): string[] {
    return readdirSync(this.#path);
  }

  read(name: string): Buffer {
    const descriptor = openSync(join(this.#path, name), "r+");
    try {
      fdatasyncSync(descriptor);
      return readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  open(name: string): LogFile {
    return new OpenFile(join(this.#path, name), this.#mayBypass);
  }

  async create(name: string, head: Buffer, bytes: number): Promise<LogFile> {
    const fresh = join(this.#path, `${name}.new`);
    await using handle = await open(fresh, "w", 0o600);
    await handle.write(head, 0, head.length, 0);
    await fill(handle, head.length, bytes);
    await handle.sync();
    await this.rename(`${name}.new`, name);
    return this.open(name);
  }

  async reuse(from: string, name: string, head: Buffer): Promise<LogFile> {
    const file = this.open(from);
    try {
      await file.write(0, [head]);
    } finally {
      await file.close();
    }
    await this.rename(from, name);
    return this.open(name);
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(join(this.#path, from), join(this.#path, to));
    await syncFolder(this.#path);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#path, name), { force: true });
  }
}

async function fill(handle: FileHandle, from: number, to: number): Promise<void> {
  const zeros = Buffer.alloc(Math.max(0, Math.min(pieceBytes, to - from)));
  for (let at = from; at < to; at += zeros.length) {
    const { bytesWritten, buffer } = await handle.write(zeros, 0, Math.min(zeros.length, to - at), at);
    checkWritten(bytesWritten, Math.min(buffer.length, to - at));
  }
}

/** What is written past the page cache has to lie at the start of a page of memory, as memory of WebAssembly does. */
const alignedPage = Buffer.from(new WebAssembly.Memory({ initial: 1, maximum: 1 }).buffer, 0, pageBytes);

/** A descriptor that writes past the page cache; undefined where system or file system have none. */
function openDirect(path: string): number | undefined {
  const { O_RDWR, O_DSYNC, O_DIRECT } = constants;
  if (O_DIRECT === undefined) return undefined;
  try {
    return openSync(path, O_RDWR | O_DSYNC | O_DIRECT);
  } catch {
    return undefined;
  }
}

/** The system ends a process that writes more than it may, unless it listens; then the write fails. */
function onTooLarge(): void {}

/**
 * On fast disks a synchronous write of a page beats a hop to the thread pool, above all where the processor is busy: the other thread would
 * wait for a core, and then this one again. Who writes more than a page has many clients, whose next requests are read meanwhile.
 */
class OpenFile implements LogFile {
  readonly #path: string;
  readonly #descriptor: number;
  #direct: number | undefined;
  #size: number;
  #meanMs = 0;
  #pooledLeft = 0;

  constructor(path: string, mayBypass: boolean) {
    if (!process.listeners("SIGXFSZ").includes(onTooLarge)) process.on("SIGXFSZ", onTooLarge);
    this.#path = path;
    this.#descriptor = openSync(path, constants.O_RDWR | constants.O_DSYNC);
    this.#direct = mayBypass ? openDirect(path) : undefined;
    this.#size = fstatSync(this.#descriptor).size;
  }

  get size(): number {
    return this.#size;
  }

  async write(at: number, pieces: readonly Buffer[]): Promise<void> {
    const bytes = lengthOf(pieces);
    if (bytes > pageBytes || this.#pooledLeft > 0) {
      if (this.#pooledLeft > 0) this.#pooledLeft--;
      await this.#writePooled(at, pieces);
    } else {
      const startedMs = performance.now();
      this.#writeNow(at, pieces, bytes);
      this.#meanMs += (performance.now() - startedMs - this.#meanMs) * writeLimits.meanShare;
      if (this.#meanMs > writeLimits.waitMs) {
        this.#meanMs = 0;
        this.#pooledLeft = writeLimits.pooledWrites;
      }
    }
    if (at + bytes > this.#size) this.#size = at + bytes;
  }

  /** Past the page cache a page is on the disk in four fifths of the time. */
  #writeNow(at: number, pieces: readonly Buffer[], bytes: number): void {
    if (this.#direct === undefined || bytes !== pageBytes) {
      checkWritten(writevSync(this.#descriptor, pieces, at), bytes);
      return;
    }
    let end = 0;
    for (const piece of pieces) end += piece.copy(alignedPage, end);
    try {
      checkWritten(writeSync(this.#direct, alignedPage, 0, bytes, at), bytes);
    } catch (error) {
      // Opened so, some file systems refuse to write so.
      if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
      closeSync(this.#direct);
      this.#direct = undefined;
      this.#writeNow(at, pieces, bytes);
    }
  }

  /** What lies beyond the known size is cut off, which needs no room on a full disk. */
  async clear(at: number): Promise<void> {
    if (at < this.#size) return this.#writePooled(at, [zeroPage]);
    await truncate(this.#path, at);
    fdatasyncSync(this.#descriptor);
  }

  async grow(bytes: number): Promise<void> {
    // Without a sync for each piece.
    await using handle = await open(this.#path, "r+");
    await fill(handle, this.#size, bytes);
    await handle.datasync();
    if (bytes > this.#size) this.#size = bytes;
  }

  #writePooled(at: number, pieces: readonly Buffer[]): Promise<void> {
    return new Promise((resolve, reject) => {
      writev(this.#descriptor, pieces, at, (error, written) => {
        try {
          if (error !== null) throw error;
          checkWritten(written, lengthOf(pieces));
          resolve();
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }

  async close(): Promise<void> {
    if (this.#direct !== undefined) await promisify(close)(this.#direct);
    await promisify(close)(this.#descriptor);
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** The system cuts the last write before a device is full short. */
function checkWritten(written: number, length: number): void {
  if (written === length) return;
  throw Object.assign(new Error(`only ${written} of ${length} bytes were written`), { code: "ENOSPC" });
}
