import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { ObjectFiles, ObjectInfo, ObjectStore } from "../../port/object-store.ts";
import { syncFolder } from "../../port/sync-folder.ts";

const partial = ".partial";
const pieceBytes = 256 * 1024;

/** Objects as files below one folder. A file appears under its name only when it is whole and synced. */
export class FilesObjectStore implements ObjectStore {
  readonly files: ObjectFiles = {
    write: (path, write) => write(this.localPath(path)),
    read: (path, read) => read(this.localPath(path)),
  };
  readonly #root: string;
  /** Folders whose names are known to be on the disk. */
  readonly #durable = new Set<string>();
  #written = 0;

  constructor(root: string) {
    this.#root = resolve(root);
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    const target = this.localPath(path);
    const folder = dirname(target);
    await mkdir(folder, { recursive: true });
    // A name of its own, so that writers of one path don't write into each other's file.
    const temporary = `${target}.${this.#written++}${partial}`;
    const file = await open(temporary, "w");
    try {
      await file.writeFile(data);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
    await syncFolder(folder);
    await this.#syncAbove(folder);
  }

  /** A folder's own name is durable once the folder above it is synced, whoever made it and whenever. */
  async #syncAbove(folder: string): Promise<void> {
    for (let each = folder; !this.#durable.has(each) && each !== dirname(this.#root); each = dirname(each)) {
      await syncFolder(dirname(each));
      this.#durable.add(each);
    }
  }

  async get(path: string, allocate?: (bytes: number) => Uint8Array): Promise<Uint8Array | undefined> {
    try {
      const local = this.localPath(path);
      return await (allocate === undefined ? readFile(local) : readInto(local, allocate));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  pieces(path: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.localPath(path), { highWaterMark: pieceBytes });
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    const folder = prefix.includes("/") ? prefix.slice(0, prefix.lastIndexOf("/")) : ".";
    const found: ObjectInfo[] = [];
    let entries: Awaited<ReturnType<typeof readdirDeep>>;
    try {
      entries = await readdirDeep(this.localPath(folder));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
    for (const entry of entries) {
      if (!entry.isFile() || entry.name.endsWith(partial)) continue;
      const full = join(entry.parentPath, entry.name);
      const path = relative(this.#root, full).split(sep).join("/");
      if (!path.startsWith(prefix)) continue;
      const bytes = await sizeOf(full);
      if (bytes !== undefined) found.push({ path, bytes });
    }
    return found.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async delete(path: string): Promise<void> {
    if (path.endsWith("/")) this.#durable.clear();
    try {
      await rm(this.localPath(path), { recursive: path.endsWith("/"), force: true });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** Deletes what writes left behind that were cut short. For the start of the process, when nobody writes. */
  async removePartial(): Promise<void> {
    let entries: Awaited<ReturnType<typeof readdirDeep>>;
    try {
      entries = await readdirDeep(this.#root);
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    for (const entry of entries) {
      if (entry.isFile() && entry.name.endsWith(partial)) await rm(join(entry.parentPath, entry.name), { force: true });
    }
  }

  uri(path: string): string {
    return pathToFileURL(this.localPath(path)).href;
  }

  datasetPlace(path: string): string {
    return this.localPath(path);
  }

  localPath(path: string): string {
    const full = resolve(this.#root, path);
    if (full !== this.#root && !full.startsWith(this.#root + sep)) {
      throw new Error(`object path ${JSON.stringify(path)} leaves the store`);
    }
    return full;
  }
}

function readdirDeep(folder: string) {
  return readdir(folder, { recursive: true, withFileTypes: true });
}

/** Undefined where the file was deleted a moment ago. */
async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** A folder is no object, and nothing lies below a file. */
const missingCodes = ["ENOENT", "ENOTDIR", "EISDIR", "ERR_FS_EISDIR"];

function isMissing(error: unknown): boolean {
  return missingCodes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}

/** Bytes read at once: the thread pool must not be held by one large object. */
const readBytes = 4 * 1024 * 1024;

async function readInto(path: string, allocate: (bytes: number) => Uint8Array): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const bytes = allocate(size);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(readBytes, size - at), at);
      if (bytesRead === 0) throw new Error(`${path} ended while it was read`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
