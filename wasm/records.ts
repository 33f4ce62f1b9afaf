// Records between JSON and the form in which they are stored, in AssemblyScript: the loops that run over every byte of
// an append or a fetch. Made into src/edge/rest/records/codec-binary.ts by scripts/wasm.ts. The host owns the memory and
// passes addresses; what it passes has 64 bytes of room after it, so that loads and stores may run over an end.

const recordFixedBytes: usize = 24;

/** Where the last call stopped writing. */
export let writtenTo: usize = 0;
/** Where the last call to `encode` stopped reading. */
export let readTo: usize = 0;
/** The largest timestamp of the last call to `decode`. */
export let maxTimestampMs: f64 = 0;

/** 0 to 63 for a character of base64, 255 for any other. */
const values: usize = memory.data(256, 16);
const alphabet: usize = memory.data(64, 16);
/** The decimal digits of an offset, right-aligned in 16 bytes; of a timestamp, left-aligned. */
const offsetDigits: usize = memory.data(16, 16);
const timestampDigits: usize = memory.data(32, 16);
let digitsFrom: usize = 16;
let nextOffset: f64 = -1;
let timestampMs: f64 = -1;
let timestampLength: usize = 0;

export function prepare(): void {
  memory.fill(values, 255, 256);
  for (let i: u32 = 0; i < 64; i++) {
    const code: u32 = i < 26 ? 65 + i : i < 52 ? 71 + i : i < 62 ? i - 4 : i == 62 ? 43 : 47;
    store<u8>(alphabet + i, code);
    store<u8>(values + code, i);
  }
}

// ---------------------------------------------------------------- encode

/** What the loop over bytes looks up and masks with: loaded before it, since a constant inside would be put together anew each time round. */
const firstOnTop: usize = memory.data<i8>([2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1], 16);
const sixBits: usize = memory.data<u32>([0x3f, 0x3f, 0x3f, 0x3f], 16);
const secondSix: usize = memory.data<u32>([0x3f00, 0x3f00, 0x3f00, 0x3f00], 16);
const thirdSix: usize = memory.data<u32>([0x3f0000, 0x3f0000, 0x3f0000, 0x3f0000], 16);
const lastSix: usize = memory.data<u32>([0x3f000000, 0x3f000000, 0x3f000000, 0x3f000000], 16);
const addedByStretch: usize = memory.data<i8>([71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 65, 0, 0], 16);
const lettersEnd: usize = memory.data<u8>([51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51], 16);
const capitalsEnd: usize = memory.data<u8>([26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26], 16);
const capitals: usize = memory.data<u8>([13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13], 16);

function putBase64(from: usize, length: usize, to: usize): usize {
  const end = from + length;
  const order = v128.load(firstOnTop);
  const mask0 = v128.load(sixBits);
  const mask1 = v128.load(secondSix);
  const mask2 = v128.load(thirdSix);
  const mask3 = v128.load(lastSix);
  const addedTable = v128.load(addedByStretch);
  const beforeDigits = v128.load(lettersEnd);
  const beforeSmall = v128.load(capitalsEnd);
  const capital = v128.load(capitals);
  // 12 bytes as 16 characters: four groups of three bytes, each a lane with its first byte on top.
  while (from + 12 <= end) {
    const lanes = v128.swizzle(v128.load(from), order);
    let six = v128.and(v128.shr<u32>(lanes, 18), mask0);
    six = v128.or(six, v128.and(v128.shr<u32>(lanes, 4), mask1));
    six = v128.or(six, v128.and(v128.shl<i32>(lanes, 10), mask2));
    six = v128.or(six, v128.and(v128.shl<i32>(lanes, 24), mask3));
    // Which of the alphabet's five stretches a number lies in tells what to add to it.
    let stretch = v128.sub_sat<u8>(six, beforeDigits);
    stretch = v128.or(stretch, v128.and(v128.lt<u8>(six, beforeSmall), capital));
    v128.store(to, v128.add<i8>(six, v128.swizzle(addedTable, stretch)));
    from += 12;
    to += 16;
  }
  while (from + 3 <= end) {
    const word = ((<u32>load<u8>(from)) << 16) | ((<u32>load<u8>(from, 1)) << 8) | (<u32>load<u8>(from, 2));
    store<u8>(to, load<u8>(alphabet + (word >> 18)));
    store<u8>(to, load<u8>(alphabet + ((word >> 12) & 63)), 1);
    store<u8>(to, load<u8>(alphabet + ((word >> 6) & 63)), 2);
    store<u8>(to, load<u8>(alphabet + (word & 63)), 3);
    from += 3;
    to += 4;
  }
  if (from == end) return to;
  const two = from + 1 < end;
  const word = ((<u32>load<u8>(from)) << 16) | (two ? (<u32>load<u8>(from, 1)) << 8 : 0);
  store<u8>(to, load<u8>(alphabet + (word >> 18)));
  store<u8>(to, load<u8>(alphabet + ((word >> 12) & 63)), 1);
  store<u8>(to, two ? load<u8>(alphabet + ((word >> 6) & 63)) : 61, 2);
  store<u8>(to, 61, 3);
  return to + 4;
}

/** Digits from the right end of a field on; returns where they start. */
function digitsOf(value: f64, end: usize): usize {
  let left = <u64>value;
  let at = end;
  do {
    const tenth = left / 10;
    store<u8>(--at, <u8>(48 + (left - tenth * 10)));
    left = tenth;
  } while (left > 0);
  return at;
}

function putOffset(offset: f64, to: usize): usize {
  if (offset == nextOffset) {
    // Counted up in place: divisions would cost more than the rest of the record.
    let i = offsetDigits + 15;
    while (load<u8>(i) == 57) store<u8>(i--, 48);
    store<u8>(i, load<u8>(i) + 1);
    if (i - offsetDigits < digitsFrom) digitsFrom = i - offsetDigits;
  } else {
    memory.fill(offsetDigits, 48, 16);
    digitsFrom = digitsOf(offset, offsetDigits + 16) - offsetDigits;
  }
  nextOffset = offset + 1;
  const length: usize = 16 - digitsFrom;
  // 16 bytes at once; what is too much is written over by what follows.
  v128.store(to, v128.load(offsetDigits + digitsFrom));
  return to + length;
}

function putTimestamp(value: f64, to: usize): usize {
  if (value != timestampMs) {
    timestampMs = value;
    const end = timestampDigits + 32;
    const start = digitsOf(value, end);
    timestampLength = end - start;
    memory.copy(timestampDigits, start, timestampLength);
  }
  v128.store(to, v128.load(timestampDigits));
  return to + timestampLength;
}

@inline
function hexDigit(value: u32): u8 {
  return <u8>(value < 10 ? 48 + value : 87 + value);
}

/** UTF-8 as it stands inside a string of JSON. */
function putEscaped(from: usize, length: usize, to: usize): usize {
  const end = from + length;
  for (; from < end; from++) {
    const c: u32 = load<u8>(from);
    if (c >= 32 && c != 34 && c != 92) {
      store<u8>(to++, <u8>c);
      continue;
    }
    store<u8>(to++, 92);
    const short: u32 = c == 34 || c == 92 ? c : c == 8 ? 98 : c == 9 ? 116 : c == 10 ? 110 : c == 12 ? 102 : c == 13 ? 114 : 0;
    if (short != 0) {
      store<u8>(to++, <u8>short);
      continue;
    }
    store<u32>(to, 0x30303075); // u000
    store<u8>(to, hexDigit(c >> 4), 3);
    store<u8>(to, hexDigit(c & 15), 4);
    to += 5;
  }
  return to;
}

@inline
function base64Length(bytes: i32): usize {
  return bytes <= 0 ? 0 : ((<usize>bytes + 2) / 3) * 4;
}

/** What a record's headers take as JSON at most. */
function headersBound(at: usize, count: u32): usize {
  let bound: usize = 16;
  for (let i: u32 = 0; i < count; i++) {
    const nameLength: usize = load<u32>(at);
    at += 4 + nameLength;
    const valueLength = load<i32>(at);
    at += 4 + (valueLength > 0 ? <usize>valueLength : 0);
    bound += 32 + 6 * nameLength + base64Length(valueLength);
  }
  return bound;
}

function putHeaders(at: usize, count: u32, to: usize): usize {
  // ,"headers":[
  store<u64>(to, 0x65646165_68222c); // ,"heade
  store<u32>(to, 0x3a227372, 7); // rs":
  store<u8>(to, 91, 11);
  to += 12;
  for (let i: u32 = 0; i < count; i++) {
    if (i > 0) store<u8>(to++, 44);
    store<u64>(to, 0x223a22_79656b227b); // {"key":"
    to += 8;
    const nameLength: usize = load<u32>(at);
    to = putEscaped(at + 4, nameLength, to);
    at += 4 + nameLength;
    const valueLength = load<i32>(at);
    at += 4;
    if (valueLength >= 0) {
      // ","value":"
      store<u64>(to, 0x65756c6176222c22);
      store<u32>(to, 0x223a22, 8);
      to = putBase64(at, valueLength, to + 11);
      at += valueLength;
    }
    store<u16>(to, 0x7d22);
    to += 2;
  }
  store<u8>(to, 93);
  return to + 1;
}

/**
 * Writes up to `count` records from `from` on as JSON, the first with `offset`, with a comma before each, or before
 * each but the first when `first` is set. Stops before the one that would end after `limit`, or that might not fit
 * before `roomEnd`. Returns how many were written; the caller tells the two apart by what is left.
 */
export function encode(
  from: usize,
  count: u32,
  offset: f64,
  to: usize,
  limit: usize,
  roomEnd: usize,
  first: bool,
): u32 {
  let written: u32 = 0;
  while (written < count) {
    const keyLength = load<i32>(from, 4);
    const valueLength = load<i32>(from, 8);
    const headerCount = load<u32>(from, 12);
    const keyStart = from + recordFixedBytes;
    const valueStart = keyStart + (keyLength > 0 ? <usize>keyLength : 0);
    const headersStart = valueStart + (valueLength > 0 ? <usize>valueLength : 0);
    let bound: usize = 128 + base64Length(keyLength) + base64Length(valueLength);
    if (headerCount > 0) bound += headersBound(headersStart, headerCount);
    if (to + bound > roomEnd) break;
    let at = to;
    if (!first || written > 0) store<u8>(at++, 44);
    // {"offset":
    store<u64>(at, 0x7465736666_6f227b);
    store<u16>(at, 0x3a22, 8);
    at = putOffset(offset + <f64>written, at + 10);
    // ,"timestamp_ms":
    store<u64>(at, 0x7473656d6974222c);
    store<u64>(at, 0x3a22736d5f706d61, 8);
    at = putTimestamp(load<f64>(from, 16), at + 16);
    if (keyLength >= 0) {
      // ,"key":"
      store<u64>(at, 0x223a2279656b222c);
      at = putBase64(keyStart, keyLength, at + 8);
      store<u8>(at++, 34);
    }
    if (valueLength >= 0) {
      // ,"value":"
      store<u64>(at, 0x2265756c6176222c);
      store<u16>(at, 0x223a, 8);
      at = putBase64(valueStart, valueLength, at + 10);
      store<u8>(at++, 34);
    }
    if (headerCount > 0) at = putHeaders(headersStart, headerCount, at);
    store<u8>(at++, 125);
    if (at > limit) break;
    to = at;
    written++;
    from += 4 + load<u32>(from);
  }
  writtenTo = to;
  readTo = from;
  // A record that was given up has counted the digits too far.
  if (written < count) nextOffset = -1;
  return written;
}

// ---------------------------------------------------------------- decode

/** How many bytes the last string stood for. */
let decodedBytes: usize = 0;

/**
 * What a vector of base64 is looked up in. Loaded from memory before a loop: a constant inside would be put together anew each time round.
 *
 * Each half of a character rules out some kinds of characters, a bit for each; one that both rule out is none of base64.
 */
// biome-ignore format: by lanes
const byLow: usize = memory.data<u8>([0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a], 16);
const byHigh: usize = memory.data<u8>([16, 16, 1, 2, 4, 8, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16], 16);
/** What the upper half tells to add, with a place of its own for the slash, which shares its half with the plus. */
const addedByHigh: usize = memory.data<i8>([0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0], 16);
const fifteens: usize = memory.data<u8>([15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15], 16);
const slashes: usize = memory.data<u8>([47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47, 47], 16);
const evens: usize = memory.data<u16>([255, 255, 255, 255, 255, 255, 255, 255], 16);
const weights: usize = memory.data<i16>([4096, 1, 4096, 1, 4096, 1, 4096, 1], 16);
const threeOfFour: usize = memory.data<i8>([2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1], 16);

/** Decodes the base64 of a string from after its quote on; returns the place after the closing quote, 0 if it is none. */
function takeBase64(from: usize, to: usize): usize {
  const start = to;
  const lowTable = v128.load(byLow);
  const highTable = v128.load(byHigh);
  const addedTable = v128.load(addedByHigh);
  const half = v128.load(fifteens);
  const slash = v128.load(slashes);
  const even = v128.load(evens);
  const weight = v128.load(weights);
  const order = v128.load(threeOfFour);
  while (true) {
    const chars = v128.load(from);
    const high = v128.and(v128.shr<u32>(chars, 4), half);
    const others = v128.and(v128.swizzle(lowTable, v128.and(chars, half)), v128.swizzle(highTable, high));
    const added = v128.swizzle(addedTable, v128.add<i8>(high, v128.eq<i8>(chars, slash)));
    const six = v128.add<i8>(chars, added);
    const twelve = v128.or(v128.shl<i16>(v128.and(six, even), 6), v128.shr<u16>(six, 8));
    v128.store(to, v128.swizzle(i32x4.dot_i16x8_s(twelve, weight), order));
    if (v128.any_true(others)) {
      // Up to the first of them, in whole groups.
      const groups = ctz(<u32>v128.bitmask<i8>(v128.ne<i8>(others, i8x16.splat(0)))) >> 2;
      from += <usize>(groups * 4);
      to += <usize>(groups * 3);
      break;
    }
    from += 16;
    to += 12;
  }
  while (true) {
    const c0 = load<u8>(from);
    if (c0 == 34) break;
    const a: u32 = load<u8>(values + c0);
    const b: u32 = load<u8>(values + load<u8>(from, 1));
    if ((a | b) > 63) return 0;
    const c2 = load<u8>(from, 2);
    const c3 = load<u8>(from, 3);
    const c: u32 = load<u8>(values + c2);
    const d: u32 = load<u8>(values + c3);
    store<u8>(to, <u8>((a << 2) | (b >> 4)));
    if (c > 63) {
      if (c2 != 61 || c3 != 61 || load<u8>(from, 4) != 34) return 0;
      from += 4;
      to += 1;
      break;
    }
    store<u8>(to, <u8>((b << 4) | (c >> 2)), 1);
    if (d > 63) {
      if (c3 != 61 || load<u8>(from, 4) != 34) return 0;
      from += 4;
      to += 2;
      break;
    }
    store<u8>(to, <u8>((c << 6) | d), 2);
    from += 4;
    to += 3;
  }
  decodedBytes = to - start;
  return from + 1;
}

@inline
function skipSpace(at: usize): usize {
  while (true) {
    const c = load<u8>(at);
    if (c != 32 && c != 10 && c != 13 && c != 9) return at;
    at++;
  }
}

/** The place after a character and the space around it, 0 if another stands there. */
@inline
function expect(at: usize, character: u8): usize {
  at = skipSpace(at);
  return load<u8>(at) == character ? skipSpace(at + 1) : 0;
}

/** The number that the last call to `takeTimestamp` read. */
let number: f64 = 0;

/** Up to 15 digits without a leading zero; 0 for anything else, as a sign, a fraction or an exponent. */
function takeTimestamp(at: usize): usize {
  const start = at;
  let value: i64 = 0;
  while (true) {
    const c = load<u8>(at);
    if (c < 48 || c > 57) break;
    value = value * 10 + (c - 48);
    at++;
  }
  const length = at - start;
  if (length == 0 || length > 15 || (load<u8>(start) == 48 && length > 1)) return 0;
  const after = load<u8>(at);
  if (after == 46 || after == 101 || after == 69) return 0;
  number = <f64>value;
  return at;
}

/** Where the memory for what `decode` writes ends. */
let room: usize = 0;

/** Reads one record from its brace on; returns the place after it, 0 for what this does not take. */
function takeRecord(at: usize, to: usize, nowMs: f64): usize {
  const parts = to + recordFixedBytes;
  let keyLength: i32 = -1;
  let valueLength: i32 = -1;
  let time: f64 = -1;
  let end = parts;
  at = expect(at, 123);
  if (at == 0) return 0;
  if (load<u8>(at) != 125) {
    while (true) {
      const isValue = load<u64>(at) == 0x3a2265756c617622; // "value":
      const isKey = !isValue && load<u32>(at) == 0x79656b22 && load<u16>(at, 4) == 0x3a22; // "key":
      if (isValue || isKey) {
        at = skipSpace(at + (isValue ? 8 : 6));
        if (load<u8>(at) != 34 || (isValue ? valueLength : keyLength) >= 0) return 0;
        at = takeBase64(at + 1, end);
        if (at == 0) return 0;
        if (isValue) valueLength = <i32>decodedBytes;
        else {
          keyLength = <i32>decodedBytes;
          // The key is stored before the value, whichever came first.
          if (valueLength > 0 && keyLength > 0) {
            if (end + 2 * keyLength > room) return 0;
            memory.copy(parts + keyLength + valueLength, end, keyLength);
            memory.copy(parts + keyLength, parts, valueLength);
            memory.copy(parts, parts + keyLength + valueLength, keyLength);
          }
        }
        end = parts + (keyLength > 0 ? <usize>keyLength : 0) + (valueLength > 0 ? <usize>valueLength : 0);
      } else {
        if (load<u64>(at) != 0x617473656d697422 || load<u32>(at, 8) != 0x6d5f706d) return 0; // "timestamp_m
        if (load<u16>(at, 12) != 0x2273 || load<u8>(at, 14) != 58 || time >= 0) return 0; // s":
        at = takeTimestamp(skipSpace(at + 15));
        if (at == 0) return 0;
        time = number;
      }
      at = skipSpace(at);
      const c = load<u8>(at);
      if (c == 125) break;
      if (c != 44) return 0;
      at = skipSpace(at + 1);
    }
  }
  if (time < 0) time = nowMs;
  if (time > maxTimestampMs) maxTimestampMs = time;
  store<u32>(to, <u32>(end - to - 4));
  store<i32>(to, keyLength, 4);
  store<i32>(to, valueLength, 8);
  store<u32>(to, 0, 12);
  store<f64>(to, time, 16);
  writtenTo = end;
  return at + 1;
}

/**
 * Reads the body of an append, `{"records":[…]}`, and writes its records as they are stored. Returns how many there
 * are, or -1 for a body that is not of this form to the letter: one with headers, nulls, other fields or a fault.
 */
export function decode(from: usize, end: usize, to: usize, roomEnd: usize, nowMs: f64): i32 {
  maxTimestampMs = 0;
  room = roomEnd;
  let at = expect(from, 123);
  if (at == 0 || load<u64>(at) != 0x7364726f63657222 || load<u16>(at, 8) != 0x3a22) return -1; // "records":
  at = expect(at + 10, 91);
  if (at == 0) return -1;
  let count: i32 = 0;
  while (true) {
    if (to + recordFixedBytes + (end - from) > roomEnd) return -1;
    at = takeRecord(at, to, nowMs);
    if (at == 0) return -1;
    to = writtenTo;
    count++;
    at = skipSpace(at);
    const c = load<u8>(at);
    if (c == 93) break;
    if (c != 44) return -1;
    at = skipSpace(at + 1);
  }
  at = expect(at + 1, 125);
  return at == end ? count : -1;
}
