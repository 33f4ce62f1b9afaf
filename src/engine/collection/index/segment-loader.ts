import type { ObjectStore } from "../../../port/object-store.ts";
import { EngineError } from "../../errors.ts";
import { Deletes } from "../../search/index/deletes.ts";
import { openSegment, type Segment } from "../../search/index/segment.ts";
import type { SegmentEntry } from "../collection-store.ts";
import type { SegmentLoader } from "./collection-index.ts";

/** Segments from the object store, read whole into memory of their own. */
export class ObjectSegmentLoader implements SegmentLoader {
  readonly #objects: ObjectStore;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  async segment(entry: SegmentEntry): Promise<Segment> {
    return openSegment(aligned(await this.#read(entry.path)));
  }

  async deletes(entry: SegmentEntry): Promise<Deletes> {
    if (entry.deletesPath === null) return new Deletes(entry.documents);
    const bytes = aligned(await this.#read(entry.deletesPath));
    return Deletes.fromWords(entry.documents, new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4));
  }

  async #read(path: string): Promise<Uint8Array> {
    const bytes = await this.#objects.get(path);
    if (bytes === undefined) {
      throw new EngineError("internal", `the index object ${path} is missing; rebuild the collection's index`);
    }
    return bytes;
  }
}

/** Typed arrays are views into the blob, so it must start at a multiple of eight. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}
