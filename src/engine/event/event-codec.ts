import { isUtf8 } from "node:buffer";
import { expandedBytesMax } from "../log/compact-batch.ts";
import { completeBatch, headerBytes } from "../log/record-batch.ts";
import { type Global, instantiate } from "../web-assembly.ts";
import { isUriReference } from "./attribute-rules.ts";
import { digestWordCount } from "./dedup/entry.ts";
import { digestKeyBytes } from "./dedup/sip-hash.ts";
import { type EncodedEvents, PartitionEvents } from "./encoded-events.ts";
import { eventCodecBinary } from "./event-codec-binary.ts";

/** What wasm/events.ts exports. */
interface Exports {
  decode(
    from: number,
    end: number,
    isBatch: number,
    to: number,
    expandedMax: number,
    digests: number,
    places: number,
    countMax: number,
    partitions: number,
    prefix: number,
    prefixBytes: number,
    digestKey: number,
  ): number;
  readonly writtenTo: Global;
  readonly expandedBytes: Global;
  readonly hasNonAscii: Global;
}

/** The smallest event has 53 bytes. */
const inputBytesMax = 1024 * 1024;
const countMax = 20_000;
/** Loads and stores of 16 bytes may run over an end. */
const slackBytes = 64;
const prefixBytesMax = 64;
/** Below it the module keeps its own tables. */
const keyStart = 65_536;
const prefixStart = keyStart + digestKeyBytes;
const inputStart = prefixStart + prefixBytesMax;
const digestsStart = inputStart + inputBytesMax + slackBytes;
const digestBytes = digestWordCount * 4;
const placesStart = digestsStart + countMax * digestBytes;
const placeWords = 3;
const outputStart = placesStart + countMax * placeWords * 4;
const outputEnd = outputStart + expandedBytesMax;

/** Where the events of a text go. */
export interface EventTarget {
  readonly stream: number;
  /** What digests are made with. */
  readonly digestKey: Buffer;
  /** One of several by each event's own keys, or the given one. */
  readonly partitions: number;
  readonly partition: number | undefined;
  readonly nowMs: number;
}

/**
 * JSON events to the records they are stored as, by SIMD and in one pass. It takes events of the plainest form: the others
 * are for `json-format.ts`, which also tells what is wrong.
 */
class EventCodec {
  readonly #module: Exports;
  readonly #memory: Buffer;
  readonly #digests: Uint32Array;
  readonly #places: Uint32Array;
  #key: Buffer | undefined;
  #prefixStream = 0;
  #prefixBytes = 0;

  constructor() {
    const { exports, memory } = instantiate(eventCodecBinary, outputEnd + slackBytes, (bytes) => ({
      isSource: (at, length) => isUriReference(bytes.latin1Slice(at!, at! + length!)),
    }));
    this.#module = exports as Exports;
    this.#memory = memory;
    this.#digests = new Uint32Array(memory.buffer, digestsStart, countMax * digestWordCount);
    this.#places = new Uint32Array(memory.buffer, placesStart, countMax * placeWords);
  }

  /** Undefined where the text is not of the plainest form, or wrong. */
  decode(
    text: Buffer,
    isBatch: boolean,
    target: EventTarget,
    allocate: (bytes: number) => Buffer = Buffer.allocUnsafe,
  ): EncodedEvents | undefined {
    if (text.length > inputBytesMax) return undefined;
    this.#setStream(target.stream);
    const memory = this.#memory;
    if (target.digestKey !== this.#key) {
      this.#key = target.digestKey;
      memory.set(target.digestKey, keyStart);
    }
    memory.set(text, inputStart);
    const end = inputStart + text.length;
    memory.fill(0, end, end + slackBytes);
    const partitions = target.partition === undefined ? target.partitions : 1;
    const count = this.#module.decode(
      inputStart,
      end,
      isBatch ? 1 : 0,
      outputStart,
      expandedBytesMax,
      digestsStart,
      placesStart,
      countMax,
      partitions,
      prefixStart,
      this.#prefixBytes,
      keyStart,
    );
    if (count < 0 || (this.#module.hasNonAscii.value !== 0 && !isUtf8(text))) return undefined;
    if (partitions > 1) return this.#scattered(count, target.nowMs, allocate);
    const written = this.#module.writtenTo.value;
    const all = allocate(count * digestBytes + headerBytes + written - outputStart);
    const bytes = all.subarray(count * digestBytes);
    memory.copy(bytes, headerBytes, outputStart, written);
    const encoded = completeBatch(bytes, count, target.nowMs, this.#module.expandedBytes.value);
    const batch = new PartitionEvents(target.partition ?? 0, encoded);
    return { count, digests: this.#takeDigests(all, count), batches: [batch], batchOf: undefined };
  }

  /** The digests, copied to the front of the request's memory. */
  #takeDigests(all: Buffer, count: number): Uint32Array {
    const own = this.#digests;
    const digests = new Uint32Array(all.buffer, all.byteOffset, count * digestWordCount);
    for (let word = 0; word < digests.length; word++) digests[word] = own[word]!;
    return digests;
  }

  /** The records of several partitions, each partition's put together in the order they came. */
  #scattered(count: number, nowMs: number, allocate: (bytes: number) => Buffer): EncodedEvents {
    const places = this.#places;
    const runs = new Map<number, { index: number; count: number; bytes: number; expanded: number; at: number }>();
    for (let i = 0, from = outputStart; i < count; i++) {
      const place = i * placeWords;
      const to = places[place + 1]!;
      let run = runs.get(places[place]!);
      if (run === undefined) {
        run = { index: runs.size, count: 0, bytes: headerBytes, expanded: 0, at: headerBytes };
        runs.set(places[place]!, run);
      }
      run.count++;
      run.bytes += to - from;
      run.expanded += places[place + 2]!;
      from = to;
    }
    const written = this.#module.writtenTo.value;
    const all = allocate(count * digestBytes + runs.size * headerBytes + written - outputStart);
    const parts: Buffer[] = [];
    let start = count * digestBytes;
    for (const { bytes } of runs.values()) {
      parts.push(all.subarray(start, start + bytes));
      start += bytes;
    }
    const batchOf = new Uint32Array(count);
    for (let i = 0, from = outputStart; i < count; i++) {
      const to = places[i * placeWords + 1]!;
      const run = runs.get(places[i * placeWords]!)!;
      run.at += this.#memory.copy(parts[run.index]!, run.at, from, to);
      batchOf[i] = run.index;
      from = to;
    }
    const batches = Array.from(runs, ([partition, { index, count: records, expanded }]) => {
      return new PartitionEvents(partition, completeBatch(parts[index]!, records, nowMs, expanded));
    });
    return { count, digests: this.#takeDigests(all, count), batches, batchOf };
  }

  /** A digest is made of the stream's number too, which stands before source and id. */
  #setStream(stream: number): void {
    if (stream === this.#prefixStream) return;
    this.#prefixStream = stream;
    this.#prefixBytes = this.#memory.latin1Write(`${stream}\n`, prefixStart);
  }
}

let shared: EventCodec | undefined;

/** One for the thread: no call of it waits for anything. */
export function eventCodec(): EventCodec {
  shared ??= new EventCodec();
  return shared;
}
