import { afterText } from "./order.ts";
import { type IndexPlace, inRange, type KeyRange } from "./table.ts";

/** What a commit has changed. A document that is written is named in every order of its table, before and after. */
export interface WriteSet {
  readonly documents: readonly string[];
  readonly places: readonly IndexPlace[];
  /** Tables, indexes or functions have changed: everything may be different. */
  readonly schema: boolean;
}

/** What a run has looked at, found or not. */
export class ReadSet {
  readonly documents = new Set<string>();
  readonly ranges: KeyRange[] = [];

  /** The first of what was looked at that is different after the commit, by a name of its own. */
  touchOf(written: WriteSet): string | undefined {
    if (written.schema) return "schema";
    const document = this.documents.size > 0 ? written.documents.find((each) => this.documents.has(each)) : undefined;
    if (document !== undefined || this.ranges.length === 0) return document;
    const place = written.places.find(({ space, key }) =>
      this.ranges.some((range) => space === range.space && inRange(key, range)),
    );
    return place?.space;
  }
}

export function documentName(table: number, key: string): string {
  return `${table}/${key}`;
}

interface Group<T> {
  /** Those of the whole prefix. */
  readonly whole: Set<T>;
  readonly parts: Map<KeyRange, T>;
}

/**
 * Who has looked at what. A look-up costs a few steps a changed document whatever the number of readers: ranges are found by what their keys
 * start with, which for whole fields is one of a few texts.
 */
export class ReaderIndex<T> {
  readonly #documents = new Map<string, Set<T>>();
  readonly #groups = new Map<string, Group<T>>();

  add(reader: T, read: ReadSet): void {
    for (const name of read.documents) {
      const readers = this.#documents.get(name);
      if (readers === undefined) this.#documents.set(name, new Set([reader]));
      else readers.add(reader);
    }
    for (const range of read.ranges) {
      const name = groupName(range.space, range.prefix);
      let group = this.#groups.get(name);
      if (group === undefined) {
        group = { whole: new Set(), parts: new Map() };
        this.#groups.set(name, group);
      }
      if (isWhole(range)) group.whole.add(reader);
      else group.parts.set(range, reader);
    }
  }

  remove(reader: T, read: ReadSet): void {
    for (const name of read.documents) {
      const readers = this.#documents.get(name);
      if (readers?.delete(reader) && readers.size === 0) this.#documents.delete(name);
    }
    for (const range of read.ranges) {
      const name = groupName(range.space, range.prefix);
      const group = this.#groups.get(name);
      if (group === undefined) continue;
      if (isWhole(range)) group.whole.delete(reader);
      else group.parts.delete(range);
      if (group.whole.size === 0 && group.parts.size === 0) this.#groups.delete(name);
    }
  }

  touchedBy({ documents, places }: WriteSet): Set<T> {
    const found = new Set<T>();
    for (const name of documents) for (const reader of this.#documents.get(name) ?? []) found.add(reader);
    for (const { space, key, ends } of places) {
      this.#find(space, "", key, found);
      for (const end of ends) this.#find(space, key.slice(0, end), key, found);
    }
    return found;
  }

  #find(space: string, prefix: string, key: string, found: Set<T>): void {
    const group = this.#groups.get(groupName(space, prefix));
    if (group === undefined) return;
    for (const reader of group.whole) found.add(reader);
    for (const [range, reader] of group.parts) if (inRange(key, range)) found.add(reader);
  }
}

function groupName(space: string, prefix: string): string {
  return `${space}/${prefix}`;
}

/** Of which nothing was cut off. */
function isWhole({ prefix, from, to }: KeyRange): boolean {
  return from === prefix && to === afterText(prefix);
}
