import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Remembers beside the store's file how it was left. `closed` holds the file's size and time of its last change, so
 * that a file which was cut, replaced or written to since is told from one that was left alone; `open` holds how many
 * starts in a row found no clean end.
 */
export class ShutdownMarker {
  readonly #file: string;
  readonly #open: string;
  readonly #closed: string;

  constructor(directory: string, file: string) {
    this.#file = file;
    this.#open = join(directory, "open");
    this.#closed = join(directory, "closed");
  }

  /** Whether a store was ever made here. */
  get known(): boolean {
    return read(this.#open) !== undefined || read(this.#closed) !== undefined;
  }

  /** Starts in a row, up to the last one, that did not end with a clean close; 0 when the file is as it was left. */
  get uncleanStarts(): number {
    const closed = read(this.#closed);
    if (closed !== undefined) return closed === fileState(this.#file) ? 0 : 1;
    return Math.max(1, Number.parseInt(read(this.#open) ?? "1", 10) || 1);
  }

  /** The store is in use from here on; until `closed` its end counts as unclean. */
  opened(): void {
    const open = read(this.#open);
    const starts = read(this.#closed) === undefined && open !== undefined ? this.uncleanStarts + 1 : 1;
    try {
      // A rename needs no room, so that a store on a full disk can still be opened.
      if (read(this.#closed) !== undefined) renameSync(this.#closed, this.#open);
      writeFileSync(this.#open, `${starts}\n`);
    } catch {
      rmSync(this.#closed, { force: true });
    }
  }

  closed(): void {
    try {
      writeFileSync(this.#open, fileState(this.#file));
      renameSync(this.#open, this.#closed);
    } catch {
      // Without it the next start looks at the pages, which is all it is for.
    }
  }
}

function fileState(file: string): string {
  const { size, mtimeNs } = statSync(file, { bigint: true });
  return `${size} ${mtimeNs}\n`;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
