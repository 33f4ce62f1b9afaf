// Compact records to the form in which records are read, in AssemblyScript. Made into
// src/engine/log/compact-batch-binary.ts by scripts/wasm.ts; what compact records are stands in
// src/engine/log/compact-batch.ts. The host owns the memory and passes addresses; what it passes has 64 bytes of room
// after it, so that loads and stores may run over an end.

const recordFixedBytes: usize = 24;

/** Of each name where it is and how long, and where its last value is and how long: 0xffffffff for none. */
const names: usize = memory.data(2048, 16);
const knownNames: u32 = 8;
const namesMax: u32 = 128;
const none: u32 = 0xffffffff;
const noValue: u32 = 0xfffffffe;
const nameText: usize = memory.data(128, 16);
const valueText: usize = memory.data(64, 16);

function putText(to: usize, text: string): usize {
  for (let i = 0; i < text.length; i++) store<u8>(to + i, <u8>text.charCodeAt(i));
  return to + text.length;
}

function prepareName(index: u32, at: usize, text: string): usize {
  store<u32>(names + (index << 4), <u32>at);
  store<u32>(names + (index << 4), text.length, 4);
  return putText(at, text);
}

export function prepare(): void {
  let at = prepareName(1, nameText, "ce_specversion");
  at = prepareName(2, at, "ce_id");
  at = prepareName(3, at, "ce_source");
  at = prepareName(4, at, "ce_type");
  at = prepareName(5, at, "ce_subject");
  at = prepareName(6, at, "ce_time");
  prepareName(7, at, "content-type");
  putText(putText(valueText, "1.0"), "application/json");
}

@inline
function setValue(name: u32, at: usize, length: u32): void {
  store<u32>(names + (name << 4), <u32>at, 8);
  store<u32>(names + (name << 4), length, 12);
}

/** The place after the last count, and that count; the place is past every end where there is none. */
let readTo: usize = 0;

@inline
function count(at: usize, end: usize): usize {
  let value: usize = 0;
  for (let shift: usize = 0; shift < 28; shift += 7) {
    const byte: usize = load<u8>(at++);
    value |= (byte & 127) << shift;
    if (byte < 128) {
      readTo = at;
      return value;
    }
  }
  readTo = end + 1;
  return 0;
}

@inline
function copyShort(to: usize, from: usize, length: usize): usize {
  v128.store(to, v128.load(from));
  for (let done: usize = 16; done < length; done += 16) v128.store(to + done, v128.load(from + done));
  return to + length;
}

@inline
function copyLong(to: usize, from: usize, length: usize): usize {
  if (length < 1024) return copyShort(to, from, length);
  memory.copy(to, from, length);
  return to + length;
}

/**
 * Writes the records that lie from `from` to `end` as they are read, from `to` on. Returns the place after them, 0 where
 * they are damaged or would go beyond `roomEnd`.
 */
export function expand(from: usize, end: usize, records: u32, to: usize, roomEnd: usize, timestampMs: f64): usize {
  for (let name: u32 = 1; name < knownNames; name++) setValue(name, 0, none);
  setValue(1, valueText, 3);
  setValue(7, valueText + 3, 16);
  let nextName = knownNames;
  let at = from;
  for (let record: u32 = 0; record < records; record++) {
    const start = to;
    const key = count(at, end);
    const value = count(readTo, end);
    const headers = count(readTo, end);
    at = readTo;
    const partBytes = (key > 0 ? key - 1 : 0) + (value > 0 ? value - 1 : 0);
    if (at > end || partBytes > end - at || start + recordFixedBytes + partBytes > roomEnd) return 0;
    store<i32>(start, <i32>key - 1, 4);
    store<i32>(start, <i32>value - 1, 8);
    store<u32>(start, <u32>headers, 12);
    store<f64>(start, timestampMs, 16);
    to = copyLong(start + recordFixedBytes, at, partBytes);
    at += partBytes;
    for (let header: usize = 0; header < headers; header++) {
      if (at >= end) return 0;
      const code: u32 = load<u8>(at++);
      let name = code & 127;
      if (name == 0) {
        const length = count(at, end);
        at = readTo;
        if (at > end || length > end - at) return 0;
        // One beyond those that are remembered is written and forgotten.
        name = nextName < namesMax ? nextName++ : 0;
        store<u32>(names + (name << 4), <u32>at);
        store<u32>(names + (name << 4), <u32>length, 4);
        at += length;
      } else if (name >= nextName) return 0;
      if (code < 128) {
        const length = count(at, end);
        at = readTo;
        if (at > end) return 0;
        if (length == 0) setValue(name, 0, noValue);
        else {
          if (length - 1 > end - at) return 0;
          setValue(name, at, <u32>length - 1);
          at += length - 1;
        }
      } else if (code == 128) return 0;
      const known = names + (name << 4);
      const nameLength: usize = load<u32>(known, 4);
      const valueLength = load<u32>(known, 12);
      if (valueLength == none) return 0;
      const valueBytes: usize = valueLength == noValue ? 0 : valueLength;
      if (to + 8 + nameLength + valueBytes > roomEnd) return 0;
      store<u32>(to, <u32>nameLength);
      to = copyLong(to + 4, load<u32>(known), nameLength);
      store<i32>(to, valueLength == noValue ? -1 : <i32>valueLength);
      to = copyLong(to + 4, load<u32>(known, 8), valueBytes);
    }
    store<u32>(start, <u32>(to - start - 4));
  }
  return at == end ? to : 0;
}
