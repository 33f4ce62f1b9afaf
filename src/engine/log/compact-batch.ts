import { instantiate } from "../web-assembly.ts";
import { compactBatchBinary } from "./compact-batch-binary.ts";

/**
 * Events share a few header names, and in a batch mostly their values: in full these often take more than the events'
 * data. In a compact batch each is written once, and a header that repeats its last value is one byte. Numbers are LEB128:
 * seven bits a byte, lowest first, the eighth bit set in all bytes but the last.
 *
 * record
 *   key length plus one, 0 for none · value length plus one, 0 for none · header count · key · value · headers
 * header
 *   u8 the name's number, plus 128 where the value is the last one of this name in the batch
 *   where the number is 0: name length · name; it gets the next free number, from 8 to 127
 *   where the value is not the last one: value length plus one, 0 for none · value
 *
 * Known names: 1 ce_specversion, whose last value is 1.0 at first, 2 ce_id, 3 ce_source, 4 ce_type, 5 ce_subject, 6 ce_time,
 * 7 content-type, whose last value is application/json at first. All records have the batch's largest timestamp.
 */

/** What wasm/compact.ts exports. */
interface Exports {
  prepare(): void;
  expand(from: number, end: number, records: number, to: number, roomEnd: number, timestampMs: number): number;
}

/** Size limit of a batch's records once expanded; they are stored in less. */
export const expandedBytesMax = 3 * 1024 * 1024;
/** Loads and stores of 16 bytes may run over an end. */
const slackBytes = 64;
/** Below it the module keeps its own tables. */
const inputStart = 65_536;
const outputStart = inputStart + expandedBytesMax + slackBytes;
const outputEnd = outputStart + expandedBytesMax;

class CompactCodec {
  readonly #module: Exports;
  readonly #memory: Buffer;

  constructor() {
    const { exports, memory } = instantiate(compactBatchBinary, outputEnd + slackBytes);
    this.#module = exports as Exports;
    this.#module.prepare();
    this.#memory = memory;
  }

  expand(body: Uint8Array, count: number, timestampMs: number, to: Buffer, toStart: number): boolean {
    const memory = this.#memory;
    const bytes = to.length - toStart;
    if (body.length > bytes || bytes > expandedBytesMax) return false;
    memory.set(body, inputStart);
    const end = inputStart + body.length;
    memory.fill(0, end, end + slackBytes);
    const written = this.#module.expand(inputStart, end, count, outputStart, outputStart + bytes, timestampMs);
    if (written !== outputStart + bytes) return false;
    memory.copy(to, toStart, outputStart, written);
    return true;
  }
}

let shared: CompactCodec | undefined;

/**
 * Writes compact records as they are read to the end of `to`, which they must fill. False where they are damaged.
 */
export function expandRecords(
  body: Uint8Array,
  count: number,
  timestampMs: number,
  to: Buffer,
  toStart: number,
): boolean {
  // One for the thread: no call of it waits for anything.
  shared ??= new CompactCodec();
  return shared.expand(body, count, timestampMs, to, toStart);
}
