import assert from "node:assert/strict";
import {
  digestWordCount,
  type EventPlace,
  entryHas,
  entryPlace,
  entryTimeMs,
  entryWords,
  writeEntry,
} from "./entry.ts";

const entriesMin = 1024;
/** Parts of a slot. A table is refused more entries long before their numbers need more bits. */
const numberMask = 0x00ff_ffff;
const tagMask = ~numberMask;

/**
 * The newest remembered events, in memory: entries in the order they came, and an open-addressed table of their
 * numbers. Typed arrays, so that a quarter of a million entries cost the garbage collector nothing.
 */
export class EntryTable {
  /** Shared with the thread that makes a segment of them. */
  words: Uint32Array;
  count = 0;
  /** When the first entry was written; Infinity while there is none. */
  firstMs = Infinity;
  lastMs = 0;
  /**
   * An entry's number plus one, below eight bits of its digest that tell nearly all others apart without a look at the
   * entry, which is rarely in the processor's cache; 0 is free. Twice as many as entries fit, so that probes stay short.
   */
  #slots: Uint32Array;
  /** A digest's slot is what is left of its first word without these low bits, so that slots are in the digests' order. */
  #shift: number;
  /** Set by `touch`, so that its loads are not left out as useless. */
  touched = 0;

  /** `entries` is how many are expected. */
  constructor(entries = 0) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(entriesMin, entries)));
    this.words = sharedWords(size * entryWords);
    this.#slots = new Uint32Array(size * 2);
    this.#shift = shiftOf(this.#slots);
  }

  /** The number of a digest's entry that was written after `afterMs` or is at least `own`; -1 where there is none. */
  find(digests: Uint32Array, digestAt: number, afterMs: number, own: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const tag = digests[digestAt + 1]! & tagMask;
    for (
      let slot = digests[digestAt]! >>> this.#shift, filledSlot = slots[slot]!;
      filledSlot !== 0;
      filledSlot = slots[slot]!
    ) {
      slot = (slot + 1) & mask;
      if ((filledSlot & tagMask) === tag && this.#isKnown(filledSlot, digests, digestAt, afterMs, own)) {
        return (filledSlot & numberMask) - 1;
      }
    }
    return -1;
  }

  place(entry: number): EventPlace {
    return entryPlace(this.words, entry * entryWords);
  }

  add(digests: Uint32Array, digestAt: number, timeMs: number, partition: number, offset: number): void {
    this.#reserve(1);
    writeEntry(this.words, this.count * entryWords, digests, digestAt, timeMs, partition, offset);
    this.#noteTime(timeMs);
    this.#link(this.count++);
  }

  /**
   * Adds events of one partition, which get offsets one after another, up to the first that is known from after `afterMs`
   * or comes twice. Returns how many were added.
   */
  addRun(
    digests: Uint32Array,
    count: number,
    afterMs: number,
    timeMs: number,
    partition: number,
    offset: number,
  ): number {
    this.#reserve(count);
    this.touch(digests, count);
    const own = this.count;
    const slots = this.#slots;
    const { words } = this;
    const shift = this.#shift;
    const mask = slots.length - 1;
    let added = 0;
    for (; added < count; added++) {
      const digestAt = added * digestWordCount;
      const tag = digests[digestAt + 1]! & tagMask;
      let slot = digests[digestAt]! >>> shift;
      for (let filledSlot = slots[slot]!; filledSlot !== 0; filledSlot = slots[slot]!) {
        if ((filledSlot & tagMask) === tag && this.#isKnown(filledSlot, digests, digestAt, afterMs, own)) break;
        slot = (slot + 1) & mask;
      }
      if (slots[slot] !== 0) break;
      const entry = own + added;
      writeEntry(words, entry * entryWords, digests, digestAt, timeMs, partition, offset + added);
      slots[slot] = (entry + 1) | tag;
    }
    if (added > 0) this.#noteTime(timeMs);
    this.count = own + added;
    return added;
  }

  /**
   * Brings what looks for these digests will read into the processor's cache. No load waits for another here, whereas the
   * looks themselves turn off at what they find: by them alone an event would wait for memory five times over.
   */
  touch(digests: Uint32Array, count: number): void {
    const slots = this.#slots;
    const shift = this.#shift;
    let read = 0;
    for (let at = 0; at < count * digestWordCount; at += digestWordCount) read ^= slots[digests[at]! >>> shift]!;
    this.touched = read;
  }

  /** An event that was forgotten and written again has two entries. */
  #isKnown(filledSlot: number, digests: Uint32Array, digestAt: number, afterMs: number, own: number): boolean {
    const entry = (filledSlot & numberMask) - 1;
    const at = entry * entryWords;
    const { words } = this;
    return entryHas(words, at, digests, digestAt) && (entry >= own || entryTimeMs(words, at) > afterMs);
  }

  /** Adds entries as they were stored. */
  addStored(stored: Uint32Array): void {
    for (let at = 0; at + entryWords <= stored.length; at += entryWords) {
      this.#reserve(1);
      this.words.set(stored.subarray(at, at + entryWords), this.count * entryWords);
      this.#noteTime(entryTimeMs(stored, at));
      this.#link(this.count++);
    }
  }

  /** Takes back the newest entries. The last one in is the end of its probe chain, so its slot can just be freed. */
  truncate(count: number): void {
    const mask = this.#slots.length - 1;
    while (this.count > count) {
      let slot = this.words[(this.count - 1) * entryWords]! >>> this.#shift;
      while ((this.#slots[slot]! & numberMask) !== this.count) {
        assert(this.#slots[slot] !== 0, "every entry has its slot");
        slot = (slot + 1) & mask;
      }
      this.#slots[slot] = 0;
      this.count--;
    }
    if (count === 0) this.firstMs = Infinity;
  }

  /** Forgets all entries and keeps the memory. */
  clear(): void {
    this.#slots.fill(0);
    this.count = 0;
    this.firstMs = Infinity;
    this.lastMs = 0;
  }

  #noteTime(timeMs: number): void {
    if (timeMs < this.firstMs) this.firstMs = timeMs;
    if (timeMs > this.lastMs) this.lastMs = timeMs;
  }

  #link(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = this.words[entry * entryWords]! >>> this.#shift;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = (entry + 1) | (this.words[entry * entryWords + 1]! & tagMask);
  }

  /** Makes room for so many more. */
  #reserve(more: number): void {
    let { length } = this.#slots;
    if ((this.count + more) * 2 <= length) return;
    while ((this.count + more) * 2 > length) length *= 2;
    const words = sharedWords((length / 2) * entryWords);
    words.set(this.words);
    this.words = words;
    this.#slots = new Uint32Array(length);
    this.#shift = shiftOf(this.#slots);
    for (let entry = 0; entry < this.count; entry++) this.#link(entry);
  }
}

export function sharedWords(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4));
}

function shiftOf(slots: Uint32Array): number {
  return 32 - Math.log2(slots.length);
}
