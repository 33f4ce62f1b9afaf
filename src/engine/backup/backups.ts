import type { Clock } from "../../port/clock.ts";
import type { ObjectInfo, ObjectStore } from "../../port/object-store.ts";
import type { Bytes, Reader, Store } from "../../port/store.ts";
import type { Manifest } from "../collection/collection-store.ts";
import type { ObjectHold } from "../collection/object-hold.ts";
import { EngineError } from "../errors.ts";
import { prefixRange, tables } from "../keys.ts";
import { decode } from "../stored-value.ts";
import {
  type ArchiveHead,
  ArchiveWriter,
  archiveVersion,
  entryMembers,
  headMember,
  memberName,
  type StoreName,
} from "./archive.ts";

export interface BackupDeps {
  readonly store: Store;
  /** API keys, signing keys and the instance's identity. */
  readonly authStore: Store;
  readonly objects: ObjectStore;
  readonly hold: ObjectHold;
  readonly clock: Clock;
  readonly serverVersion: string;
  /** Which files of a columnar dataset a version of it needs: the form of a dataset is its adapter's to know. */
  readonly datasetFiles: (paths: readonly string[], version: number) => readonly string[];
}

const retryAfterMs = 10_000;

/**
 * Backups of the whole instance while it serves. A snapshot of the store holds every write that was acknowledged before
 * it; the objects that its manifests name are kept until they are copied.
 */
export class Backups {
  readonly #deps: BackupDeps;
  #running = false;

  constructor(deps: BackupDeps) {
    this.#deps = deps;
  }

  /** Throws at once when one is under way: each holds back the reuse of space. */
  begin(): AsyncGenerator<Bytes> {
    if (this.#running) {
      const metadata = { retry_after_ms: String(retryAfterMs) };
      throw new EngineError("resource_exhausted", "a backup is under way", { retryAfterMs, metadata });
    }
    return this.#archive();
  }

  async *#archive(): AsyncGenerator<Bytes> {
    const { store, authStore, hold, clock, serverVersion } = this.#deps;
    if (this.#running) throw new EngineError("resource_exhausted", "a backup is under way", { retryAfterMs });
    this.#running = true;
    try {
      using held = await hold.hold(() => store.snapshot());
      using auth = authStore.snapshot();
      const nowMs = clock.nowMs();
      const writer = new ArchiveWriter(nowMs);
      const head: ArchiveHead = {
        version: archiveVersion,
        created_at: new Date(nowMs).toISOString(),
        server_version: serverVersion,
      };
      yield* writer.whole(headMember, Buffer.from(JSON.stringify(head)));
      // First, since they are what is kept from being deleted.
      yield* this.#objects(writer, held.resource);
      const entries: Record<StoreName, number> = { store: 0, auth: 0 };
      for (const [name, reader] of [["store", held.resource] as const, ["auth", auth] as const]) {
        let index = 0;
        for (const member of entryMembers(reader)) {
          entries[name] += member.entries;
          yield* writer.whole(memberName(name, index++), member.data);
        }
      }
      yield* writer.end(entries);
    } finally {
      this.#running = false;
    }
  }

  async *#objects(writer: ArchiveWriter, snapshot: Reader): AsyncGenerator<Bytes> {
    const { objects } = this.#deps;
    for (const manifest of newestManifests(snapshot)) {
      const found = await this.#named(manifest);
      for (const { path, bytes } of found) {
        yield* writer.piecewise(`objects/${path}`, bytes, objects.pieces(path));
      }
    }
  }

  /** The objects of a manifest with their sizes. Each must be there: it is named, and held. */
  async #named({ segments, lance }: Manifest): Promise<ObjectInfo[]> {
    const { objects, datasetFiles } = this.#deps;
    const paths: string[] = [];
    for (const { path, deletesPath, graphs } of segments) {
      paths.push(path, ...(deletesPath === null ? [] : [deletesPath]), ...Object.values(graphs));
    }
    const sizes = new Map<string, number>();
    for (const folder of new Set(paths.map((path) => path.slice(0, path.lastIndexOf("/") + 1)))) {
      for (const { path, bytes } of await objects.list(folder)) sizes.set(path, bytes);
    }
    if (lance !== null) {
      const files = await objects.list(`${lance.path}/`);
      for (const { path, bytes } of files) sizes.set(path, bytes);
      const needed = datasetFiles(
        files.map(({ path }) => path),
        lance.version,
      );
      paths.push(...needed);
    }
    return paths.flatMap((path) => {
      const bytes = sizes.get(path);
      // The index is made anew from the documents where a part of it is lost; the backup must not fail for it.
      return bytes === undefined ? [] : [{ path, bytes }];
    });
  }
}

/** Of each collection, also of those that are being dropped: nobody reads what they name. */
function* newestManifests(snapshot: Reader): Generator<Manifest> {
  let newest: { readonly collection: string; readonly value: Bytes } | undefined;
  for (const { key, value } of snapshot.range(prefixRange(tables.manifest))) {
    const collection = Buffer.from(key).toString("latin1", 0, 9);
    if (newest !== undefined && newest.collection !== collection) yield decode<Manifest>(newest.value);
    newest = { collection, value };
  }
  if (newest !== undefined) yield decode<Manifest>(newest.value);
}
