import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { link, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ObjectFiles, ObjectInfo, ObjectStore } from "../../port/object-store.ts";
import { FilesObjectStore } from "./object-store.ts";

/** Objects that live elsewhere and take files. */
export interface RemoteObjects extends ObjectStore {
  putFile(path: string, file: string): Promise<void>;
}

const partial = ".partial";
/** The folder is looked through when this share of its bound was added. */
const sweepShare = 1 / 32;

/**
 * Keeps copies of objects in a folder of this machine, up to about so many bytes; those that were unused for longest go first. Several threads
 * may share the folder. Nothing in it is synced, so it begins empty with each process.
 */
export class CachedObjectStore implements ObjectStore, ObjectFiles {
  readonly #objects: RemoteObjects;
  readonly #copies: FilesObjectStore;
  readonly #folder: string;
  readonly #bytesMax: number;
  #addedBytes = 0;

  constructor(objects: RemoteObjects, folder: string, bytesMax: number) {
    this.#objects = objects;
    this.#copies = new FilesObjectStore(folder);
    this.#folder = folder;
    this.#bytesMax = bytesMax;
  }

  /** For the start of the process, when no thread uses it. */
  static async empty(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  }

  get files(): ObjectFiles {
    return this;
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    // Whatever becomes of the put, the old copy is none of it.
    await this.#forget(path);
    await this.#objects.put(path, data);
    await this.#keep(path, data);
  }

  async get(path: string, allocate?: (bytes: number) => Uint8Array): Promise<Uint8Array | undefined> {
    const name = nameOf(path);
    const copy = await this.#copies.get(name, allocate);
    if (copy !== undefined) {
      await touch(this.#fileOf(path));
      return copy;
    }
    const data = await this.#objects.get(path, allocate);
    if (data !== undefined) await this.#keep(path, data);
    return data;
  }

  pieces(path: string): AsyncIterable<Uint8Array> {
    return this.#objects.pieces(path);
  }

  list(prefix: string): Promise<ObjectInfo[]> {
    return this.#objects.list(prefix);
  }

  async delete(path: string): Promise<void> {
    await this.#objects.delete(path);
    await this.#forget(path);
  }

  uri(path: string): string {
    return this.#objects.uri(path);
  }

  datasetPlace(path: string): string | undefined {
    return this.#objects.datasetPlace(path);
  }

  async write<T>(path: string, write: (file: string) => Promise<T>): Promise<T> {
    const own = this.#ownFile(path);
    try {
      const written = await write(own);
      await this.#forget(path);
      await this.#objects.putFile(path, own);
      await this.#offer(own, path);
      return written;
    } finally {
      await rm(own, { force: true });
    }
  }

  /** A name of its own keeps the file from being swept before it is opened. */
  async read<T>(path: string, read: (file: string) => Promise<T>): Promise<T | undefined> {
    const own = this.#ownFile(path);
    try {
      if (await linked(this.#fileOf(path), own)) await touch(own);
      else if (await this.#fetch(path, own)) await this.#offer(own, path);
      else return undefined;
      return await read(own);
    } finally {
      await rm(own, { force: true });
    }
  }

  /** False where there is no such object. */
  async #fetch(path: string, file: string): Promise<boolean> {
    try {
      await pipeline(this.#objects.pieces(path), createWriteStream(file));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** A copy that can't be kept is fetched again when it is needed. */
  async #keep(path: string, data: Uint8Array): Promise<void> {
    if (data.length > this.#bytesMax) return;
    const own = this.#ownFile(path);
    try {
      await writeFile(own, data);
      await rename(own, this.#fileOf(path));
      await this.#added(data.length);
    } catch {
      await rm(own, { force: true });
    }
  }

  async #offer(own: string, path: string): Promise<void> {
    // Another thread may have been first.
    if (await linked(own, this.#fileOf(path))) await this.#added((await stat(own)).size);
  }

  async #forget(path: string): Promise<void> {
    const name = nameOf(path);
    if (!path.endsWith("/")) await rm(this.#fileOf(path), { force: true });
    else
      await Promise.all((await this.#names()).filter((each) => each.startsWith(name)).map((each) => this.#drop(each)));
  }

  async #added(bytes: number): Promise<void> {
    this.#addedBytes += bytes;
    if (this.#addedBytes < this.#bytesMax * sweepShare) return;
    this.#addedBytes = 0;
    const copies: { name: string; bytes: number; usedMs: number }[] = [];
    for (const name of await this.#names()) {
      const found = await stat(join(this.#folder, name)).catch(() => undefined);
      if (found !== undefined) copies.push({ name, bytes: found.size, usedMs: found.mtimeMs });
    }
    let left = copies.reduce((sum, each) => sum + each.bytes, 0);
    for (const { name, bytes: freed } of copies.sort((a, b) => a.usedMs - b.usedMs)) {
      if (left <= this.#bytesMax) return;
      await this.#drop(name);
      left -= freed;
    }
  }

  async #names(): Promise<string[]> {
    return (await readdir(this.#folder)).filter((name) => !name.endsWith(partial));
  }

  #drop(name: string): Promise<void> {
    return rm(join(this.#folder, name), { force: true });
  }

  #fileOf(path: string): string {
    return join(this.#folder, nameOf(path));
  }

  #ownFile(path: string): string {
    return `${this.#fileOf(path)}.${randomUUID()}${partial}`;
  }
}

/** One flat name for each path, so that what begins alike still does. */
function nameOf(path: string): string {
  return encodeURIComponent(path);
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
}

/** False where there is nothing to link, or the name is taken. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function touch(file: string): Promise<void> {
  const now = new Date();
  // Swept a moment ago, perhaps.
  await utimes(file, now, now).catch(() => undefined);
}
