import { instantiate } from "../web-assembly.ts";
import { compactBatchBinary } from "./compact-batch-binary.ts";

/**
 * Events have the same few header names, and in a batch mostly the same values of them: written out they would take more
 * than the events' data often do. In a batch of this form they are written once, and a header that has the value of the
 * same header before it is one byte. Numbers are written seven bits a byte, the lowest first, with the eighth bit set in all
 * bytes but the last.
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

/** What the records of such a batch take when they are read. Less is stored of them. */
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
