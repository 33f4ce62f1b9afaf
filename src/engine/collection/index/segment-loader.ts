import { asBuffer } from "../../../port/bytes.ts";
import { crc32 } from "../../../port/checksum.ts";
import type { ObjectStore } from "../../../port/object-store.ts";
import { allocateShared, type SharedBytes, type SharedSegments, viewShared } from "../../../port/shared-bytes.ts";
import { type VectorGraph, VectorGraphError, type VectorGraphs } from "../../../port/vector-graph.ts";
import { EngineError, unavailable } from "../../errors.ts";
import { Deletes } from "../../search/index/deletes.ts";
import { openSegment, type Segment } from "../../search/index/segment.ts";
import type { SegmentEntry } from "../collection-store.ts";
import type { SegmentGraphs, SegmentLoader, SharedSegment } from "./collection-index.ts";

/** Segments from the object store, read whole into memory of their own and verified to the last byte. */
export class ObjectSegmentLoader implements SegmentLoader {
  readonly #objects: ObjectStore;

  readonly #graphs: VectorGraphs | undefined;

  /** Without `graphs` every vector search is exact. */
  constructor(objects: ObjectStore, graphs?: VectorGraphs) {
    this.#objects = objects;
    this.#graphs = graphs;
  }

  segment(entry: SegmentEntry): Promise<Segment> {
    return this.#load(entry.path, (bytes) => verified(entry, bytes));
  }

  /** The same in memory that other threads can see too. One that another thread has loaded was verified there. */
  async sharedSegment(entry: SegmentEntry, loaded: SharedBytes | undefined): Promise<SharedSegment> {
    if (loaded !== undefined) return { segment: openSegment(viewShared(loaded)), bytes: loaded };
    let bytes: SharedBytes | undefined;
    const allocate = (length: number) => {
      bytes = allocateShared(length);
      return viewShared(bytes);
    };
    const segment = await this.#load(entry.path, (bytes) => verified(entry, bytes), allocate);
    return { segment, bytes: bytes! };
  }

  async deletes(entry: SegmentEntry): Promise<Deletes> {
    if (entry.deletesPath === null) return new Deletes(entry.documents);
    return this.#load(entry.deletesPath, (bytes) => {
      const deletes = Deletes.fromWords(entry.documents, decodeDeletes(bytes, entry.documents));
      if (deletes.count !== entry.deleted) throw new Error(`it holds ${deletes.count} deleted documents`);
      return deletes;
    });
  }

  /** The graphs of a segment by field. One that can't be trusted is left out: its field is searched exactly. */
  async graphs(entry: SegmentEntry, loaded: SharedSegments): Promise<SegmentGraphs> {
    const found = new Map<string, VectorGraph>();
    for (const [field, path] of Object.entries(entry.graphs)) {
      const graphs = this.#graphs;
      const shared = loaded[path];
      const quality = entry.graphQuality?.[field];
      // Its rows have no neighbours that a graph could follow: all are compared.
      if (quality !== undefined && quality.recall < recallMin) continue;
      try {
        const graph =
          shared === undefined
            ? await this.#objects.files?.read(path, async (file) => graphs?.open(file, quality))
            : graphs?.openShared(shared, quality);
        if (graph !== undefined) found.set(field, graph);
      } catch (error) {
        if (!(error instanceof VectorGraphError) || error.kind !== "damaged") throw unreadable(error);
      }
    }
    return found;
  }

  async #load<T>(path: string, read: (bytes: Uint8Array) => T, allocate?: (length: number) => Uint8Array): Promise<T> {
    const bytes = await this.#objects.get(path, allocate).catch((error: unknown) => {
      throw unreadable(error);
    });
    if (bytes === undefined) throw indexDamage(path, "it is missing");
    try {
      return read(aligned(bytes));
    } catch (error) {
      throw indexDamage(path, error);
    }
  }
}

/** A graph that found less of the nearest when it was built is not used. */
const recallMin = 0.9;

/** The object may well be there: only its store does not answer. */
function unreadable(cause: unknown): EngineError {
  return unavailable("an object of the collection's index could not be read; retry", cause);
}

function verified(entry: SegmentEntry, bytes: Uint8Array): Segment {
  const segment = openSegment(bytes);
  segment.verify();
  if (segment.docCount !== entry.documents) throw new Error(`it holds ${segment.docCount} documents`);
  return segment;
}

/** Typed arrays are views into the blob, so it must start at a multiple of eight. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}

const deletesHeaderBytes = 8;

/** u32 crc32 of the rest · u32 word count · the words of the bitmap. Little endian. */
export function encodeDeletes(words: Uint32Array): Uint8Array {
  const out = Buffer.alloc(deletesHeaderBytes + words.byteLength);
  out.writeUInt32LE(words.length, 4);
  out.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), deletesHeaderBytes);
  out.writeUInt32LE(crc32(out.subarray(4)), 0);
  return out;
}

function decodeDeletes(stored: Uint8Array, documents: number): Uint32Array {
  const bytes = asBuffer(stored);
  const wanted = (documents + 31) >>> 5;
  if (bytes.length !== deletesHeaderBytes + wanted * 4 || bytes.readUInt32LE(4) !== wanted) {
    throw new Error("its size is wrong");
  }
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) throw new Error("its checksum is wrong");
  return new Uint32Array(stored.buffer, stored.byteOffset + deletesHeaderBytes, wanted);
}

const member = "damaged_object";

/** An object of the index that is missing or not what was written. The documents hold all that is needed to make it again. */
function indexDamage(path: string, cause: unknown): EngineError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new EngineError("internal", `the index object ${path} can't be used: ${what}`, {
    details: { [member]: path },
    cause,
  });
}

/** The path of the object at fault, when an error tells of one. */
export function damagedObject(error: unknown): string | undefined {
  if (!(error instanceof EngineError)) return undefined;
  const path = error.details[member];
  return typeof path === "string" ? path : undefined;
}
