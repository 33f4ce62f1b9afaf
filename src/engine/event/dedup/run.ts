import { damaged } from "../../errors.ts";
import { openValue, sealInPlace, sumBytes } from "../../stored-value.ts";
import { digestWordCount, entriesFromBytes, entryWords, timeWord } from "./entry.ts";

/**
 * What a commit adds to the remembered events. Most of them come together: events that were written at one time to one
 * partition, with offsets one after another, have all that said once. Nearly half of it is saved by that, and with it a
 * page of the disk for a hundred events.
 *
 * value: u32 checksum, then stretches of u32, little endian: how many events · two of the time (high, low) · the partition ·
 * two of the first one's offset · four of the digest for each
 */
const headWords = 1 + entryWords - digestWordCount;
const sumWords = sumBytes / 4;

/** What a run of so many entries takes at most. */
export function runBytesMax(entries: number): number {
  return sumBytes + entries * (headWords + digestWordCount) * 4;
}

/** What events that come together take. */
export function stretchBytes(entries: number): number {
  return (headWords + entries * digestWordCount) * 4;
}

/** Writes the entries from number `first` on up to `end` as they are stored, into memory with room for them. */
export function sealRun(words: Uint32Array, first: number, end: number, memory: Buffer): Buffer {
  const run = new Uint32Array(memory.buffer, memory.byteOffset, Math.floor(memory.length / 4));
  const last = end * entryWords;
  let to = sumWords;
  for (let at = first * entryWords; at < last; ) {
    const head = to;
    const timeHigh = words[at + timeWord]!;
    const timeLow = words[at + timeWord + 1]!;
    const partition = words[at + timeWord + 2]!;
    const offsetHigh = words[at + timeWord + 3]!;
    const offsetLow = words[at + timeWord + 4]!;
    run[head + 1] = timeHigh;
    run[head + 2] = timeLow;
    run[head + 3] = partition;
    run[head + 4] = offsetHigh;
    run[head + 5] = offsetLow;
    to += headWords;
    let count = 0;
    do {
      run[to] = words[at]!;
      run[to + 1] = words[at + 1]!;
      run[to + 2] = words[at + 2]!;
      run[to + 3] = words[at + 3]!;
      to += digestWordCount;
      at += entryWords;
      count++;
    } while (
      at < last &&
      words[at + timeWord] === timeHigh &&
      words[at + timeWord + 1] === timeLow &&
      words[at + timeWord + 2] === partition &&
      words[at + timeWord + 3] === offsetHigh &&
      words[at + timeWord + 4] === offsetLow + count
    );
    run[head] = count;
  }
  return sealInPlace(memory.subarray(0, to * 4));
}

/** The entries of a stored run. */
export function entriesOfRun(stored: Uint8Array): Uint32Array {
  const run = entriesFromBytes(openValue(stored));
  const words = new Uint32Array(entriesIn(run) * entryWords);
  let to = 0;
  for (let at = 0; at < run.length; ) {
    const count = run[at]!;
    const head = at + 1;
    at += headWords;
    for (let i = 0; i < count; i++, at += digestWordCount, to += entryWords) {
      for (let word = 0; word < digestWordCount; word++) words[to + word] = run[at + word]!;
      for (let word = 0; word < headWords - 1; word++) words[to + timeWord + word] = run[head + word]!;
      words[to + entryWords - 1]! += i;
    }
  }
  return words;
}

/** How many entries the stretches have, which must end where the run ends. */
function entriesIn(run: Uint32Array): number {
  let entries = 0;
  let at = 0;
  while (at < run.length) {
    const count = run[at]!;
    at += headWords + count * digestWordCount;
    if (count === 0 || at > run.length) throw damaged("a run of remembered events is damaged");
    entries += count;
  }
  return entries;
}
