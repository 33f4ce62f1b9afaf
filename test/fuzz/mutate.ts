import type { Dice } from "../sim/dice.ts";

/** Bytes that parsers stumble over. */
const oddBytes = [0, 1, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x25, 0x2f, 0x30, 0x39, 0x5c, 0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff];
const oddNumbers = ["0", "-1", "1e309", "-0", "9007199254740993", "2147483648", "4294967296", "1.5", "00", "1e-400"];
const oddTexts = [
  "\u0000",
  "\ufeff",
  "\u{1f600}",
  "\ud800",
  "e\u0301",
  "\u0130",
  "\u202e",
  "\\u0000",
  "\\ud800",
  "__proto__",
  "constructor",
  "null",
  "NaN",
];

type Mutation = (bytes: Buffer, dice: Dice, words: readonly string[], other: Buffer) => Buffer;

function splice(bytes: Buffer, at: number, removed: number, put: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
}

function place(bytes: Buffer, dice: Dice): number {
  return dice.below(bytes.length + 1);
}

/** The stretch from a place to somewhere after it, mostly short. */
function stretch(bytes: Buffer, dice: Dice): [number, number] {
  const at = place(bytes, dice);
  const most = dice.chance(0.8) ? 16 : bytes.length;
  return [at, Math.min(bytes.length - at, dice.below(most + 1))];
}

/** A run of digits near a place becomes another number. */
function renumber(bytes: Buffer, dice: Dice): Buffer {
  const text = bytes.latin1Slice();
  const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?/g)];
  if (numbers.length === 0) return bytes;
  const found = dice.pick(numbers);
  const given = Number(found[0]);
  const next = dice.chance(0.5) ? dice.pick(oddNumbers) : String(given + dice.between(-2, 2));
  return splice(bytes, found.index, found[0].length, Buffer.from(next, "latin1"));
}

const mutations: readonly Mutation[] = [
  (bytes, dice) => {
    if (bytes.length === 0) return Buffer.from([dice.below(256)]);
    const changed = Buffer.from(bytes);
    const at = dice.below(bytes.length);
    changed[at] = changed[at]! ^ (1 << dice.below(8));
    return changed;
  },
  (bytes, dice) => {
    if (bytes.length === 0) return bytes;
    const changed = Buffer.from(bytes);
    changed[dice.below(bytes.length)] = dice.chance(0.7) ? dice.pick(oddBytes) : dice.below(256);
    return changed;
  },
  (bytes, dice) => splice(bytes, place(bytes, dice), 0, Buffer.from([dice.pick(oddBytes)])),
  (bytes, dice) => {
    const [at, length] = stretch(bytes, dice);
    return splice(bytes, at, length, Buffer.alloc(0));
  },
  (bytes, dice) => {
    const [at, length] = stretch(bytes, dice);
    const part = bytes.subarray(at, at + length);
    const times = dice.chance(0.05) ? dice.between(2, 200) : 1;
    return splice(bytes, place(bytes, dice), 0, Buffer.concat(Array.from({ length: times }, () => part)));
  },
  (bytes, dice, words) => {
    const word = words.length > 0 && dice.chance(0.8) ? dice.pick(words) : dice.pick(oddTexts);
    const [at, length] = dice.chance(0.5) ? stretch(bytes, dice) : [place(bytes, dice), 0];
    return splice(bytes, at, length, Buffer.from(word));
  },
  (bytes, dice) => renumber(bytes, dice),
  (bytes, dice, _words, other) => {
    const [at, length] = stretch(other, dice);
    const [to, removed] = stretch(bytes, dice);
    return splice(bytes, to, removed, other.subarray(at, at + length));
  },
  (bytes, dice, _words, other) =>
    Buffer.concat([bytes.subarray(0, place(bytes, dice)), other.subarray(place(other, dice))]),
  (bytes, dice) => {
    if (bytes.length < 4) return bytes;
    const changed = Buffer.from(bytes);
    const at = dice.below(bytes.length - 3);
    const value = dice.pick([
      0,
      1,
      0x7f,
      0xff,
      0x7fff,
      0xffff,
      0x7fffffff,
      0xffffffff,
      bytes.length,
      bytes.length - at,
    ]);
    if (dice.chance(0.5)) changed.writeUInt32LE(value, at);
    else changed.writeUInt32BE(value, at);
    return changed;
  },
];

/** One to several small changes, all chosen by the dice. */
export function mutate(given: Buffer, other: Buffer, words: readonly string[], bytesMax: number, dice: Dice): Buffer {
  let bytes = given;
  const times = 1 + dice.below(dice.chance(0.7) ? 3 : 8);
  for (let i = 0; i < times; i++) bytes = dice.pick(mutations)(bytes, dice, words, other);
  return bytes.subarray(0, bytesMax);
}
