import assert from "node:assert/strict";
import { type EventPlace, entryHas, entryPlace, entryTimeMs, entryWords, writeEntry } from "./entry.ts";

const entriesMin = 1024;
/** Parts of a slot. A table is refused more entries long before their numbers need more bits. */
const numberMask = 0x00ff_ffff;
const tagMask = ~numberMask;

/**
 * The newest remembered events, in memory: entries in the order they came, and an open-addressed table of their
 * numbers. Typed arrays, so that a quarter of a million entries cost the garbage collector nothing.
 */
export class EntryTable {
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

  /** `entries` is how many are expected. */
  constructor(entries = 0) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(entriesMin, entries)));
    this.words = new Uint32Array(size * entryWords);
    this.#slots = new Uint32Array(size * 2);
  }

  /** The place of a digest whose entry was written after `afterMs` or has at least the number `own`. */
  find(digests: Uint32Array, digestAt: number, afterMs: number, own: number): EventPlace | undefined {
    const slots = this.#slots;
    const { words } = this;
    const mask = slots.length - 1;
    const tag = digests[digestAt + 1]! & tagMask;
    for (let slot = digests[digestAt]! & mask, held = slots[slot]!; held !== 0; held = slots[slot]!) {
      slot = (slot + 1) & mask;
      if ((held & tagMask) !== tag) continue;
      const entry = (held & numberMask) - 1;
      const at = entry * entryWords;
      if (!entryHas(words, at, digests, digestAt)) continue;
      // An event that was forgotten and written again has two entries.
      if (entry >= own || entryTimeMs(words, at) > afterMs) return entryPlace(words, at);
    }
    return undefined;
  }

  add(digests: Uint32Array, digestAt: number, timeMs: number, partition: number, offset: number): void {
    if (this.count * 2 === this.#slots.length) this.#grow();
    writeEntry(this.words, this.count * entryWords, digests, digestAt, timeMs, partition, offset);
    this.#noteTime(timeMs);
    this.#link(this.count++);
  }

  /** Adds entries as they were stored. */
  addStored(stored: Uint32Array): void {
    for (let at = 0; at + entryWords <= stored.length; at += entryWords) {
      if (this.count * 2 === this.#slots.length) this.#grow();
      this.words.set(stored.subarray(at, at + entryWords), this.count * entryWords);
      this.#noteTime(entryTimeMs(stored, at));
      this.#link(this.count++);
    }
  }

  /** Takes back the newest entries. The last one in is the end of its probe chain, so its slot can just be freed. */
  truncate(count: number): void {
    const mask = this.#slots.length - 1;
    while (this.count > count) {
      let slot = this.words[(this.count - 1) * entryWords]! & mask;
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
    let slot = this.words[entry * entryWords]! & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = (entry + 1) | (this.words[entry * entryWords + 1]! & tagMask);
  }

  #grow(): void {
    const words = new Uint32Array(this.words.length * 2);
    words.set(this.words);
    this.words = words;
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let entry = 0; entry < this.count; entry++) this.#link(entry);
  }
}
