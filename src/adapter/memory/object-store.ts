import { copyBytes } from "../../port/bytes.ts";
import type { ObjectInfo, ObjectStore } from "../../port/object-store.ts";

export class MemoryObjectStore implements ObjectStore {
  readonly files = undefined;
  readonly #objects = new Map<string, Uint8Array>();

  async put(path: string, data: Uint8Array): Promise<void> {
    this.#objects.set(path, copyBytes(data));
  }

  async get(path: string, allocate?: (bytes: number) => Uint8Array): Promise<Uint8Array | undefined> {
    const data = this.#objects.get(path);
    if (data === undefined || allocate === undefined) return data === undefined ? undefined : copyBytes(data);
    const copy = allocate(data.length);
    copy.set(data);
    return copy;
  }

  async *pieces(path: string): AsyncGenerator<Uint8Array> {
    const data = this.#objects.get(path);
    if (data === undefined) throw new Error(`there is no object ${path}`);
    yield copyBytes(data);
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    return [...this.#objects]
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, data]) => ({ path, bytes: data.length }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async delete(path: string): Promise<void> {
    if (!path.endsWith("/")) {
      this.#objects.delete(path);
      return;
    }
    for (const each of [...this.#objects.keys()]) if (each.startsWith(path)) this.#objects.delete(each);
  }

  uri(path: string): string {
    return `memory:///${path}`;
  }

  datasetPlace(_path: string): string | undefined {
    return undefined;
  }
}
