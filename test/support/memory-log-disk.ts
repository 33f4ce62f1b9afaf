import type { LogDisk, LogFile } from "../../src/adapter/file-log/disk.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";

/** The folder of a commit log in memory. What it holds can be changed, and its writes can be made to fail. */
export class MemoryLogDisk implements LogDisk {
  readonly files = new Map<string, Buffer>();
  /** Throws to let a write or another change fail. */
  onChange: (what: "write" | "clear" | "grow" | "create" | "rename" | "remove", name: string) => void = () => {};
  /** Writes so many of a write's pages before it fails. */
  tornPages = 0;

  list(): string[] {
    return [...this.files.keys()];
  }

  read(name: string): Buffer {
    return Buffer.from(this.#of(name));
  }

  open(name: string): LogFile {
    const disk = this;
    return {
      get size() {
        return disk.#of(name).length;
      },
      async write(at, pieces) {
        const bytes = Buffer.concat(pieces);
        try {
          disk.onChange("write", name);
        } catch (error) {
          disk.#put(name, at, bytes.subarray(0, disk.tornPages * pageBytes));
          throw error;
        }
        disk.#put(name, at, bytes);
      },
      async clear(at) {
        disk.onChange("clear", name);
        disk.#put(name, at, Buffer.alloc(pageBytes));
      },
      async grow(bytes) {
        disk.onChange("grow", name);
        disk.#put(name, bytes, Buffer.alloc(0));
      },
      async close() {},
    };
  }

  async create(name: string, head: Buffer, bytes: number): Promise<LogFile> {
    this.onChange("create", name);
    this.files.set(name, Buffer.concat([head, Buffer.alloc(Math.max(0, bytes - head.length))]));
    return this.open(name);
  }

  async reuse(from: string, name: string, head: Buffer): Promise<LogFile> {
    await this.open(from).write(0, [head]);
    await this.rename(from, name);
    return this.open(name);
  }

  async rename(from: string, to: string): Promise<void> {
    this.onChange("rename", from);
    this.files.set(to, this.#of(from));
    this.files.delete(from);
  }

  async remove(name: string): Promise<void> {
    this.onChange("remove", name);
    this.files.delete(name);
  }

  #of(name: string): Buffer {
    const found = this.files.get(name);
    if (found === undefined) throw new Error(`there is no file ${name}`);
    return found;
  }

  #put(name: string, at: number, bytes: Buffer): void {
    const file = this.#of(name);
    const missing = at + bytes.length - file.length;
    const long = missing > 0 ? Buffer.concat([file, Buffer.alloc(missing)]) : file;
    bytes.copy(long, at);
    this.files.set(name, long);
  }
}
