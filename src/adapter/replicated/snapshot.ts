import { createHash } from "node:crypto";
import { sha256 } from "../../port/checksum.ts";
import type { Clock } from "../../port/clock.ts";
import { encodeEntry, entryBytes, foldEntries } from "../../port/commit-entry.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import { type Bytes, type Reader, type Store, StoreError, type WriteOp } from "../../port/store.ts";
import type { Cursor } from "./fold.ts";

/**
 * Snapshots of a store among the objects, so that a new node need not read the log from its beginning:
 *
 *   snapshots/<log>/parts/<name>/<part>      puts of about four mebibytes, in the form of a commit
 *   snapshots/<log>/manifests/<name>         written last, once every part was read back
 *
 * A name begins with the position of the last commit that the snapshot holds.
 */
export interface SnapshotManifest {
  readonly format: number;
  readonly log: string;
  readonly position: number;
  /** How to go on in the log after it. */
  readonly cursor: Cursor;
  readonly entries: number;
  readonly parts: readonly { readonly bytes: number; readonly sha256: string }[];
}

/** What a view has applied, and how to go on in the log. Undefined where it has applied nothing. */
export type MarkReader = (view: Reader) => { readonly applied: number; readonly cursor?: unknown } | undefined;

export interface FoundSnapshot {
  readonly name: string;
  readonly position: number;
}

const format = 1;
const partBytes = 4 * 1024 * 1024;
/** Read and written between two turns of the event loop. */
const stepBytes = 128 * 1024;
const stepEntries = 500;
const positionDigits = 16;

/** Snapshots of one log. */
export class Snapshots {
  readonly #objects: ObjectStore;
  readonly #log: string;
  readonly #folder: string;

  constructor(objects: ObjectStore, log: string) {
    this.#objects = objects;
    this.#log = log;
    this.#folder = `snapshots/${createHash("sha256").update(log).digest("hex").slice(0, 16)}`;
  }

  /** The newest first. */
  async list(): Promise<FoundSnapshot[]> {
    const folder = `${this.#folder}/manifests/`;
    const found = (await this.#objects.list(folder)).map(({ path }) => foundOf(path.slice(folder.length)));
    return found.reverse();
  }

  /** Undefined where it is gone, damaged, or of another form. */
  async manifest(name: string): Promise<SnapshotManifest | undefined> {
    const stored = await this.#objects.get(`${this.#folder}/manifests/${name}`);
    const [checksum, text] = Buffer.from(stored ?? [])
      .toString()
      .split("\n");
    if (text === undefined || checksum !== (await sha256(Buffer.from(text)))) return undefined;
    const manifest = JSON.parse(text) as SnapshotManifest;
    return manifest.format === format && manifest.log === this.#log ? manifest : undefined;
  }

  /**
   * Writes all that a view holds, at no more than so many bytes a second. Undefined where the view has applied nothing, or the signal came.
   * Throws where what is read back is not what was written.
   */
  async write(view: Store, markOf: MarkReader, unique: string, pace: Pace): Promise<SnapshotManifest | undefined> {
    using snapshot = view.snapshot();
    const known = markOf(snapshot);
    if (known === undefined || known.applied === 0) return undefined;
    const name = `${String(known.applied).padStart(positionDigits, "0")}-${unique}`;
    const parts: { bytes: number; sha256: string }[] = [];
    let entries = 0;
    for await (const part of partsOf(snapshot)) {
      await this.#objects.put(this.#part(name, parts.length), part.bytes);
      parts.push({ bytes: part.bytes.length, sha256: await sha256(part.bytes) });
      entries += part.entries;
      if (!(await pace.passed(part.bytes.length))) return undefined;
    }
    const { applied: position, cursor } = known;
    const manifest = { format, log: this.#log, position, cursor: cursor as Cursor, entries, parts };
    for (const i of parts.keys()) {
      const { length } = await this.#verifiedPart(name, manifest, i);
      if (!(await pace.passed(length))) return undefined;
    }
    const text = JSON.stringify(manifest satisfies SnapshotManifest);
    await this.#objects.put(
      `${this.#folder}/manifests/${name}`,
      Buffer.from(`${await sha256(Buffer.from(text))}\n${text}`),
    );
    return manifest;
  }

  /** Fills an empty store. Throws where a part is missing or damaged; what was filled so far is of no use then. */
  async restore({ name }: FoundSnapshot, into: Pick<Store, "commit">): Promise<SnapshotManifest> {
    const manifest = await this.manifest(name);
    if (manifest === undefined) throw damaged(name, "has no whole manifest");
    for (const i of manifest.parts.keys())
      await into.commit(foldEntries([await this.#verifiedPart(name, manifest, i)]));
    return manifest;
  }

  /** Deletes a snapshot, the manifest first: what has none is no snapshot. */
  async delete(name: string): Promise<void> {
    await this.#objects.delete(`${this.#folder}/manifests/${name}`);
    await this.#objects.delete(`${this.#folder}/parts/${name}/`);
  }

  /** Deletes what is older than a position, also what was never finished. */
  async deleteBefore(position: number): Promise<void> {
    for (const found of await this.list()) if (found.position < position) await this.delete(found.name);
    const folder = `${this.#folder}/parts/`;
    const names = (await this.#objects.list(folder)).map(({ path }) => path.slice(folder.length).split("/")[0]!);
    for (const name of new Set(names)) if (foundOf(name).position < position) await this.delete(name);
  }

  #part(name: string, index: number): string {
    return `${this.#folder}/parts/${name}/${String(index).padStart(8, "0")}`;
  }

  async #verifiedPart(name: string, { parts }: Pick<SnapshotManifest, "parts">, index: number): Promise<Uint8Array> {
    const bytes = await this.#objects.get(this.#part(name, index));
    if (bytes === undefined) throw damaged(name, `lacks part ${index}`);
    if ((await sha256(bytes)) !== parts[index]!.sha256) throw damaged(name, `has a damaged part ${index}`);
    return bytes;
  }
}

/** Bounds how fast a snapshot is made, and ends it. */
export class Pace {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  readonly #signal: AbortSignal;
  readonly #beganMs: number;
  #bytes = 0;

  constructor(clock: Clock, bytesPerSecond: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
    this.#signal = signal;
    this.#beganMs = clock.steadyMs();
  }

  /** Waits as long as so many bytes may take. False where it is to end. */
  async passed(bytes: number): Promise<boolean> {
    this.#bytes += bytes;
    const dueMs = this.#beganMs + (this.#bytes / this.#bytesPerSecond) * 1_000;
    await this.#clock.sleep(Math.max(0, dueMs - this.#clock.steadyMs()), this.#signal);
    return !this.#signal.aborted;
  }
}

async function* partsOf(reader: Reader): AsyncGenerator<{ readonly bytes: Buffer; readonly entries: number }> {
  let from: Bytes | undefined;
  for (let isOver = false; !isOver; ) {
    const steps: Buffer[] = [];
    let bytes = 0;
    let entries = 0;
    while (bytes < partBytes && !isOver) {
      const { ops, isLast } = stepOf(reader, from);
      const step = Buffer.allocUnsafe(entryBytes(ops));
      encodeEntry(step, ops);
      steps.push(step);
      bytes += step.length;
      entries += ops.length;
      isOver = isLast;
      if (!isLast) from = Buffer.concat([ops.at(-1)!.key, Buffer.of(0)]);
      // Others have their turn.
      await nextTurn();
    }
    if (entries > 0) yield { bytes: Buffer.concat(steps), entries };
  }
}

function stepOf(reader: Reader, from: Bytes | undefined): { ops: WriteOp[]; isLast: boolean } {
  const ops: WriteOp[] = [];
  let bytes = 0;
  for (const { key, value } of reader.range({ ...(from && { from }), limit: stepEntries })) {
    ops.push({ kind: "put", key, value });
    bytes += key.length + value.length;
    if (bytes >= stepBytes) return { ops, isLast: false };
  }
  return { ops, isLast: ops.length < stepEntries };
}

function foundOf(name: string): FoundSnapshot {
  return { name, position: Number(name.slice(0, positionDigits)) };
}

function damaged(name: string, what: string): StoreError {
  return new StoreError("damaged", `the snapshot ${name} ${what}`);
}
