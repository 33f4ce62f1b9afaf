import type { Clock } from "../../../port/clock.ts";
import type { Columnar, ColumnarChange, ColumnarRow } from "../../../port/columnar.ts";
import type { ObjectStore } from "../../../port/object-store.ts";
import type { ThreadService } from "../../../port/threads.ts";
import type { GraphQuality, VectorGraphs } from "../../../port/vector-graph.ts";
import { EngineError } from "../../errors.ts";
import type { Schema } from "../../schema/schema.ts";
import { readSchema } from "../../schema/schema-parse.ts";
import { FloatSlab } from "../../search/float-slab.ts";
import { openSegment, type Segment, SegmentReader } from "../../search/index/segment.ts";
import { mergeSegments } from "../../search/index/segment-writer.ts";
import { TailIndex } from "../../search/index/tail.ts";
import { suitsGraph } from "../../search/vector/ann.ts";
import type { SegmentEntry } from "../collection-store.ts";
import { decodeDocument } from "../document-codec.ts";
import type { SegmentLoader } from "../index/collection-index.ts";
import type { FrozenDeletes } from "../index/messages.ts";
import { encodeDeletes } from "../index/segment-loader.ts";
import { StoredExtractor } from "../stored-extract.ts";
import { type DocumentChange, decodeChanges } from "../write-record.ts";
import { ColumnarDatasets } from "./columnar-datasets.ts";
import { columnarRow } from "./columnar-rows.ts";
import type { BuildMessage, BuildReply } from "./messages.ts";

interface Job {
  readonly schema: Schema;
  readonly schemaVersion: number;
  readonly folder: string;
  /** The last change of each document. */
  readonly changes: Map<number, DocumentChange>;
}

/** Large enough to go back to the system when its vectors are no longer needed. */
const slabFloats = 32 * 1024;

/** The last state of every changed document: as an index to be sealed, and as rows for the columnar dataset. */
function collect(job: Job, pause: () => void): { tail: TailIndex; change: ColumnarChange } {
  const tail = new TailIndex(job.schema, false);
  const extractor = new StoredExtractor(job.schema);
  const memory = new FloatSlab(slabFloats);
  const upserts: ColumnarRow[] = [];
  const deletes: number[] = [];
  for (const { id, version, document } of job.changes.values()) {
    if (document === undefined) {
      deletes.push(id);
      continue;
    }
    const stored = decodeDocument(document, memory.take);
    const extracted = extractor.extract(stored);
    tail.add(id, version, extracted);
    upserts.push(columnarRow(job.schema, id, version, stored, extracted));
    pause();
  }
  return { tail, change: { upserts, deletes } };
}

/** A segment that is yet to be written. */
interface Merged {
  readonly documents: number;
  readonly bytes: Uint8Array;
}

function mergedOf(schema: Schema, parts: readonly (TailIndex | SegmentReader)[]): Merged | undefined {
  const documents = parts.reduce((sum, part) => sum + part.liveCount, 0);
  return documents === 0 ? undefined : { documents, bytes: mergeSegments(schema, parts) };
}

/** What runs in the build thread: turns changes into segments, and segments into larger ones. */
export class BuildService implements ThreadService {
  readonly #objects: ObjectStore;
  readonly #loader: SegmentLoader;
  readonly #columns: ColumnarDatasets | undefined;
  readonly #graphs: VectorGraphs | undefined;
  readonly #jobs = new Map<number, Job>();
  readonly #onLeftBehind: () => void;
  readonly #pause: () => void;

  /**
   * Without `columnar` no dataset is kept, without `graphs` no vector graph is made. `onLeftBehind` is told when a part
   * of a build is over, whose memory should be free for the next. `pause` is called between the steps of long work.
   */
  constructor(
    objects: ObjectStore,
    loader: SegmentLoader,
    clock: Clock,
    columnar?: Columnar,
    graphs?: VectorGraphs,
    onLeftBehind: () => void = () => {},
    pause: () => void = () => {},
  ) {
    this.#onLeftBehind = onLeftBehind;
    this.#pause = pause;
    this.#graphs = graphs;
    this.#objects = objects;
    this.#loader = loader;
    this.#columns = columnar === undefined ? undefined : new ColumnarDatasets(columnar, objects, clock);
  }

  handle(message: unknown): unknown {
    const request = message as BuildMessage;
    switch (request.kind) {
      case "begin": {
        const { schema, schemaVersion, folder } = request;
        this.#jobs.set(request.job, { schema: readSchema(schema), schemaVersion, folder, changes: new Map() });
        return undefined;
      }
      case "changes": {
        const { changes } = this.#job(request.job);
        for (const change of decodeChanges(request.changes)) changes.set(change.id, change);
        return undefined;
      }
      case "cancel":
        this.#jobs.delete(request.job);
        return undefined;
      case "seal":
        return this.#seal(request.job, request.id, request.deletes, request.keeps);
      case "merge":
        return this.#merge(request.job, request.id, request.segments);
    }
  }

  #job(id: number): Job {
    const job = this.#jobs.get(id);
    if (job === undefined) throw new EngineError("internal", `the build thread has no job ${id}`);
    return job;
  }

  async #seal(jobId: number, id: string, deletes: FrozenDeletes, keeps: boolean): Promise<BuildReply> {
    const job = this.#job(jobId);
    this.#jobs.delete(jobId);
    const { merged, lance } = await this.#collect(job, keeps);
    this.#onLeftBehind();
    const segment = await this.#write(job, id, merged);
    const written = await Promise.all(
      deletes.map(async ({ segment: of, words, count }) => {
        const path = `${job.folder}/deletes/${id}-${of}`;
        await this.#objects.put(path, encodeDeletes(words));
        return { segment: of, path, count };
      }),
    );
    return { segment, deletes: written, lance };
  }

  /** The changes as a columnar commit and as one segment. What both were made from is free at the end. */
  async #collect(job: Job, keeps: boolean): Promise<{ merged: Merged | undefined; lance: BuildReply["lance"] }> {
    const { tail, change } = collect(job, this.#pause);
    job.changes.clear();
    const merged = mergedOf(job.schema, [tail]);
    const lance = await this.#columns?.apply(job.folder, job.schema, change, keeps);
    return { merged, lance: lance ?? null };
  }

  async #merge(jobId: number, id: string, entries: readonly SegmentEntry[]): Promise<BuildReply> {
    const job = this.#job(jobId);
    this.#jobs.delete(jobId);
    const merged = await this.#merged(job, entries);
    this.#onLeftBehind();
    // It has the values that all of its parts have: a field that was added since one was made is still to be filled in.
    const schemaVersion = Math.min(...entries.map((entry) => entry.schemaVersion));
    return { segment: await this.#write({ ...job, schemaVersion }, id, merged), deletes: [], lance: null };
  }

  async #merged(job: Job, entries: readonly SegmentEntry[]): Promise<Merged | undefined> {
    const readers: SegmentReader[] = [];
    for (const entry of entries) {
      readers.push(new SegmentReader(await this.#loader.segment(entry), await this.#loader.deletes(entry)));
    }
    return mergedOf(job.schema, readers);
  }

  async #write(job: Job, id: string, merged: Merged | undefined): Promise<SegmentEntry | null> {
    if (merged === undefined) return null;
    const { documents, bytes } = merged;
    const path = `${job.folder}/segments/${id}`;
    await this.#objects.put(path, bytes);
    const graphs = await this.#writeGraphs(job, id, openSegment(bytes));
    const { schemaVersion } = job;
    return { id, documents, bytes: bytes.length, deleted: 0, deletesPath: null, path, ...graphs, schemaVersion };
  }

  /** A graph for each vector field that has enough rows for one to be worth it. */
  async #writeGraphs(
    job: Job,
    id: string,
    segment: Segment,
  ): Promise<Pick<SegmentEntry, "graphs"> & Required<Pick<SegmentEntry, "graphQuality">>> {
    const written: Record<string, string> = {};
    const quality: Record<string, GraphQuality> = {};
    for (const [i, { name }] of job.schema.vectors.entries()) {
      const rows = segment.vectors(name);
      const path = `${job.folder}/graphs/${id}-${i}`;
      const graphs = this.#graphs;
      const { files } = this.#objects;
      if (graphs === undefined || files === undefined || rows === undefined || !suitsGraph(rows)) continue;
      const { data, dim, distance } = rows;
      const input = { rows: data.subarray(0, rows.rowCount * dim), dim, distance };
      const built = await files.write(path, (file) => graphs.build(file, input));
      written[name] = path;
      if (built.quality !== undefined) quality[name] = built.quality;
    }
    return { graphs: written, graphQuality: quality };
  }
}
