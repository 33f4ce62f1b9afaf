// CloudEvents from JSON to the records they are stored as, in AssemblyScript: the loops that run over every byte of an
// event. Made into src/engine/event/event-codec-binary.ts by scripts/wasm.ts. It takes only what needs no second thought
// and leaves everything else, faults too, to src/engine/event/json-format.ts: what it takes, that one takes as well, and
// makes the same bytes of it. The host owns the memory and passes addresses; what it passes has 64 bytes of room after
// it, so that loads and stores may run over an end, and zeros after the text, which end every scan.

/** Whether the text is a URI-reference. */
@external("env", "isSource")
declare function isSource(at: usize, length: usize): bool;

/** Where the last call stopped writing, and what its records take as they are read. */
export let writtenTo: usize = 0;
export let expandedBytes: usize = 0;
/** Whether the last call met bytes outside ASCII, which it takes for UTF-8: the host verifies them. */
export let hasNonAscii: bool = false;

// ---------------------------------------------------------------- headers

/** What names stand for in compact records: see src/engine/log/compact-batch.ts. */
const specversionName: u32 = 1;
const idName: u32 = 2;
const sourceName: u32 = 3;
const typeName: u32 = 4;
const subjectName: u32 = 5;
const timeName: u32 = 6;
const contentTypeName: u32 = 7;
const firstGivenName: u32 = 8;
const namesMax: u32 = 128;
const sameValue: u32 = 128;

/** What records and headers take beside their values when they are read, names included. */
const recordFixedBytes: usize = 24;
const specversionBytes: usize = 25;
const idBytes: usize = 13;
const sourceBytes: usize = 17;
const typeBytes: usize = 15;
const subjectBytes: usize = 18;
const timeBytes: usize = 15;
const contentTypeBytes: usize = 36;
const extensionBytes: usize = 11;

/** Of each name where its last value is, and how long; of those that records gave where they are, and how long. */
const lastValues: usize = memory.data(1024, 16);
const givenNames: usize = memory.data(1024, 16);
let nextName: u32 = firstGivenName;
const noLength: u32 = 0xffffffff;

/** The next record refers to none before it. */
function forgetValues(): void {
  for (let name = sourceName; name < nextName; name++) store<u32>(lastValues + (name << 3), noLength, 4);
  nextName = firstGivenName;
}

@inline
function putCount(to: usize, count: usize): usize {
  while (count > 127) {
    store<u8>(to++, <u8>(count | 128));
    count >>= 7;
  }
  store<u8>(to, <u8>count);
  return to + 1;
}

@inline
function putValue(to: usize, from: usize, length: usize): usize {
  return copyShort(putCount(to, length + 1), from, length);
}

@inline
function isSame(a: usize, b: usize, length: usize): bool {
  for (let done: usize = 0; done < length; done += 16) {
    const differ = v128.bitmask<i8>(v128.ne<i8>(v128.load(a + done), v128.load(b + done)));
    if (differ != 0 && done + ctz<i32>(differ) < length) return false;
  }
  return true;
}

/** A header whose name is known already. */
function putHeader(to: usize, name: u32, value: usize, length: usize): usize {
  const last = lastValues + (name << 3);
  if (load<u32>(last, 4) == <u32>length && isSame(load<u32>(last), value, length)) {
    store<u8>(to, <u8>(name | sameValue));
    return to + 1;
  }
  store<u32>(last, <u32>value);
  store<u32>(last, <u32>length, 4);
  store<u8>(to, <u8>name);
  return putValue(to + 1, value, length);
}

function putExtension(to: usize, name: usize, nameBytes: usize, value: usize, length: usize): usize {
  for (let known = firstGivenName; known < nextName; known++) {
    const given = givenNames + (known << 3);
    if (load<u32>(given, 4) == <u32>nameBytes && isSame(load<u32>(given), name, nameBytes)) {
      return putHeader(to, known, value, length);
    }
  }
  store<u8>(to, 0);
  to = putCount(to + 1, nameBytes + 3);
  store<u32>(to, 0x5f6563); // ce_
  to = putValue(copyShort(to + 3, name, nameBytes), value, length);
  if (nextName == namesMax) return to;
  store<u32>(givenNames + (nextName << 3), <u32>name);
  store<u32>(givenNames + (nextName << 3), <u32>nameBytes, 4);
  store<u32>(lastValues + (nextName << 3), <u32>value);
  store<u32>(lastValues + (nextName << 3), <u32>length, 4);
  nextName++;
  return to;
}

// ---------------------------------------------------------------- digests

const messageBytesMax: usize = 1024;
/** The stream's number, source and id, a line each, with zeros after it up to the next word. */
const message: usize = memory.data(1088, 16);
/** Where the source goes in it: after what all events of a stream have in common. */
let sourceTo: usize = 0;
let digestsTo: usize = 0;
/** Where the key is. */
let digestKeyAt: usize = 0;

/** What the other messages of the stream begin with. */
function startMessages(prefix: usize, length: usize): void {
  sourceTo = copyShort(message, prefix, length);
}

/** SipHash-2-4 with 128 bits of the next event's message, as src/engine/event/dedup/sip-hash.ts makes it. The message must fit. */
function putDigest(source: usize, sourceLength: usize, id: usize, idLength: usize): void {
  let at = copyShort(sourceTo, source, sourceLength);
  store<u8>(at++, 10);
  at = copyShort(at, id, idLength);
  store<u64>(at, 0);
  const length = at - message;
  const end = message + (length & ~7) + 8;
  store<u8>(end - 1, <u8>length);
  const k0 = load<u64>(digestKeyAt);
  const k1 = load<u64>(digestKeyAt, 8);
  let v0 = k0 ^ 0x736f6d6570736575;
  let v1 = k1 ^ 0x646f72616e646f83;
  let v2 = k0 ^ 0x6c7967656e657261;
  let v3 = k1 ^ 0x7465646279746573;
  // The words of the message, and after them twice four rounds, each for half of the digest.
  for (at = message; ; at += 8) {
    const word = at < end ? load<u64>(at) : 0;
    v3 ^= word;
    for (let rounds = at < end ? 2 : 4; rounds > 0; rounds--) {
      v0 += v1;
      v2 += v3;
      v1 = rotl<u64>(v1, 13) ^ v0;
      v3 = rotl<u64>(v3, 16) ^ v2;
      v0 = rotl<u64>(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = rotl<u64>(v1, 17) ^ v2;
      v3 = rotl<u64>(v3, 21) ^ v0;
      v2 = rotl<u64>(v2, 32);
    }
    v0 ^= word;
    const next = at + 8;
    if (next < end) continue;
    if (next == end) {
      v2 ^= 0xee;
      continue;
    }
    store<u64>(digestsTo, v0 ^ v1 ^ v2 ^ v3);
    digestsTo += 8;
    if (next == end + 16) return;
    v1 ^= 0xdd;
  }
}

// ---------------------------------------------------------------- text

/** Copies in steps of 16 bytes; what is too much is written over by what follows. */
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

@inline
function skipSpace(at: usize): usize {
  while (true) {
    const c = load<u8>(at);
    if (c != 32 && c != 10 && c != 13 && c != 9) return at;
    at++;
  }
}

/** What characters are compared with: loaded before a loop, since a constant inside would be put together anew each time round. */
const spaces: usize = memory.data<u8>([32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32], 16);
/** How many printable ones there are. */
const printables: usize = memory.data<u8>([95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95, 95], 16);
const quotes: usize = memory.data<u8>([34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34], 16);
const backslashes: usize = memory.data<u8>([92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92, 92], 16);

/** The place of the quote that ends a string of printable ASCII without escapes, 0 for any other. */
@inline
function plainEnd(at: usize): usize {
  const space = v128.load(spaces);
  const printable = v128.load(printables);
  const quote = v128.load(quotes);
  const backslash = v128.load(backslashes);
  while (true) {
    const chars = v128.load(at);
    let stop = v128.ge<u8>(v128.sub<i8>(chars, space), printable);
    stop = v128.or(stop, v128.eq<i8>(chars, quote));
    stop = v128.or(stop, v128.eq<i8>(chars, backslash));
    const mask = v128.bitmask<i8>(stop);
    if (mask != 0) {
      at += <usize>ctz<i32>(mask);
      return load<u8>(at) == 34 ? at : 0;
    }
    at += 16;
  }
}

@inline
function isHex(c: u32): bool {
  return c - 48 < 10 || (c | 32) - 97 < 6;
}

/** The place after any JSON string, from after its opening quote on, 0 for what is none. */
function stringEnd(at: usize): usize {
  const space = v128.load(spaces);
  const quote = v128.load(quotes);
  const backslash = v128.load(backslashes);
  while (true) {
    const chars = v128.load(at);
    let stop = v128.lt<u8>(chars, space);
    stop = v128.or(stop, v128.eq<i8>(chars, quote));
    stop = v128.or(stop, v128.eq<i8>(chars, backslash));
    const mask = v128.bitmask<i8>(stop);
    const high = v128.bitmask<i8>(chars);
    if (mask == 0) {
      if (high != 0) hasNonAscii = true;
      at += 16;
      continue;
    }
    const length = ctz<i32>(mask);
    if ((high & ((1 << length) - 1)) != 0) hasNonAscii = true;
    at += length;
    const c: u32 = load<u8>(at);
    if (c == 34) return at + 1;
    if (c != 92) return 0;
    const escaped: u32 = load<u8>(at, 1);
    if (escaped == 117) {
      if (!isHex(load<u8>(at, 2)) || !isHex(load<u8>(at, 3)) || !isHex(load<u8>(at, 4)) || !isHex(load<u8>(at, 5))) {
        return 0;
      }
      at += 6;
    } else {
      // " \ / b f n r t
      if (
        escaped != 34 && escaped != 92 && escaped != 47 && escaped != 98 && escaped != 102 && escaped != 110 &&
        escaped != 114 && escaped != 116
      ) {
        return 0;
      }
      at += 2;
    }
  }
}

@inline
function isDigit(at: usize): bool {
  return <u32>load<u8>(at) - 48 < 10;
}

function numberEnd(at: usize): usize {
  if (load<u8>(at) == 45) at++;
  if (!isDigit(at)) return 0;
  if (load<u8>(at) == 48) at++;
  else while (isDigit(at)) at++;
  if (load<u8>(at) == 46) {
    at++;
    if (!isDigit(at)) return 0;
    while (isDigit(at)) at++;
  }
  if ((load<u8>(at) | 32) == 101) {
    at++;
    const sign = load<u8>(at);
    if (sign == 43 || sign == 45) at++;
    if (!isDigit(at)) return 0;
    while (isDigit(at)) at++;
  }
  return at;
}

/** A member's name and colon; returns the place of its value, 0 if there is none. */
@inline
function nameEnd(at: usize): usize {
  if (load<u8>(at) != 34) return 0;
  at = stringEnd(at + 1);
  if (at == 0) return 0;
  at = skipSpace(at);
  return load<u8>(at) == 58 ? skipSpace(at + 1) : 0;
}

/** Nesting that is followed here; deeper data are left to the other way. */
const depthMax: u32 = 60;

/** The place after any JSON value, 0 for what is none. */
function valueEnd(at: usize): usize {
  let depth: u32 = 0;
  // A bit for each open bracket, the innermost lowest: whether it is one of an object.
  let objects: u64 = 0;
  while (true) {
    const c: u32 = load<u8>(at);
    if (c == 34) {
      at = stringEnd(at + 1);
      if (at == 0) return 0;
    } else if (c == 123 || c == 91) {
      if (depth == depthMax) return 0;
      at = skipSpace(at + 1);
      // Each closing bracket is two after its opening one.
      if (load<u8>(at) == c + 2) at++;
      else {
        depth++;
        objects = (objects << 1) | (c == 123 ? 1 : 0);
        if (c == 123) {
          at = nameEnd(at);
          if (at == 0) return 0;
        }
        continue;
      }
    } else if (c == 45 || c - 48 < 10) {
      at = numberEnd(at);
      if (at == 0) return 0;
    } else if (load<u32>(at) == 0x65757274 || load<u32>(at) == 0x6c6c756e) at += 4; // true, null
    else if (c == 102 && load<u32>(at, 1) == 0x65736c61) at += 5; // false
    else return 0;
    while (true) {
      if (depth == 0) return at;
      at = skipSpace(at);
      const after: u32 = load<u8>(at);
      const isObject = (objects & 1) != 0;
      if (after == 44) {
        at = skipSpace(at + 1);
        if (isObject) {
          at = nameEnd(at);
          if (at == 0) return 0;
        }
        break;
      }
      if (after != <u32>(isObject ? 125 : 93)) return 0;
      at++;
      depth--;
      objects >>= 1;
    }
  }
}

/** The number that two digits make, or one above 99. */
@inline
function twoDigits(at: usize): u32 {
  const tens: u32 = <u32>load<u8>(at) - 48;
  const ones: u32 = <u32>load<u8>(at, 1) - 48;
  return tens < 10 && ones < 10 ? tens * 10 + ones : 1000;
}

/** RFC 3339 `date-time`, with the leap second that it allows. */
function isTimestamp(at: usize, length: usize): bool {
  if (length < 20) return false;
  const century = twoDigits(at);
  const yearOfCentury = twoDigits(at + 2);
  const month = twoDigits(at + 5);
  const day = twoDigits(at + 8);
  if (century > 99 || yearOfCentury > 99 || month < 1 || month > 12 || day < 1) return false;
  const year = century * 100 + yearOfCentury;
  const isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const days: u32 = month == 2 ? (isLeap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  if (day > days) return false;
  if (load<u8>(at, 4) != 45 || load<u8>(at, 7) != 45 || (load<u8>(at, 10) | 32) != 116) return false;
  if (twoDigits(at + 11) > 23 || twoDigits(at + 14) > 59 || twoDigits(at + 17) > 60) return false;
  if (load<u8>(at, 13) != 58 || load<u8>(at, 16) != 58) return false;
  const end = at + length;
  at += 19;
  if (load<u8>(at) == 46) {
    at++;
    if (!isDigit(at)) return false;
    while (isDigit(at)) at++;
  }
  const zone = load<u8>(at);
  if ((zone | 32) == 122) return at + 1 == end;
  if ((zone != 43 && zone != 45) || at + 6 != end) return false;
  return twoDigits(at + 1) < 24 && load<u8>(at, 3) == 58 && twoDigits(at + 4) < 60;
}

@inline
function within(bytes: v128, from: i8, to: i8): v128 {
  return v128.and(v128.ge<u8>(bytes, i8x16.splat(from)), v128.le<u8>(bytes, i8x16.splat(to)));
}

/** The source that was found to be one last, which most often is the next one too. */
const knownSource: usize = memory.data(320, 16);
const knownSourceBytesMax: usize = 256;
let knownSourceLength: usize = 0;

function checkSource(at: usize, length: usize): bool {
  if (length == knownSourceLength && isSame(at, knownSource, length)) return true;
  if (!isSource(at, length)) return false;
  if (length <= knownSourceBytesMax) {
    copyShort(knownSource, at, length);
    knownSourceLength = length;
  }
  return true;
}

// ---------------------------------------------------------------- events

const extensionsMax: usize = 16;
/** Of each extension: where its name starts and its length, where its value starts and its length. */
const extensions: usize = memory.data(256, 16);
let extensionCount: usize = 0;

let idAt: usize = 0;
let idLength: usize = 0;
let sourceAt: usize = 0;
let sourceLength: usize = 0;
let typeAt: usize = 0;
let typeLength: usize = 0;
let subjectAt: usize = 0;
let subjectLength: usize = 0;
let timeAt: usize = 0;
let timeLength: usize = 0;
let keyAt: usize = 0;
let keyLength: usize = 0;
let dataAt: usize = 0;
let dataLength: usize = 0;
let hasVersion: bool = false;
let hasContentType: bool = false;

/** What a member of an event is. The values of the fixed ones are always the same. */
const fixedMember: u32 = 0;
const idMember: u32 = 1;
const sourceMember: u32 = 2;
const typeMember: u32 = 3;
const subjectMember: u32 = 4;
const timeMember: u32 = 5;
const extensionMember: u32 = 6;
const dataMember: u32 = 7;
let memberKind: u32 = 0;
/**
 * Of each member of the event that was read member by member last, but for the fixed ones: where the text begins that leads
 * from the value before it to its own, and how long it is, what the member is, and the number of an extension. The event
 * after it mostly has the same text between its values.
 */
const layout: usize = memory.data(400, 16);
const membersMax: usize = 24;
let layoutEnd: usize = layout;
/** The text that leads from the last value to the event's end. */
let tailAt: usize = 0;
let tailLength: usize = 0;

/** The length of an attribute's name from `at` on, 0 for what the other way must look at. */
@inline
function nameLength(at: usize): usize {
  const start = at;
  while (true) {
    const chars = v128.load(at);
    const known = v128.or(within(chars, 97, 122), within(chars, 48, 57));
    const mask = ~v128.bitmask<i8>(known) & 0xffff;
    if (mask == 0) {
      at += 16;
      continue;
    }
    at += <usize>ctz<i32>(mask);
    return load<u8>(at) == 34 ? at - start : 0;
  }
}

function sameText(a: usize, b: usize, length: usize): bool {
  for (let i: usize = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

@inline
function isKey(extension: usize): bool {
  const name: usize = load<u32>(extension);
  // "partitionkey"
  return load<u32>(extension, 4) == 12 && load<u64>(name) == 0x6f69746974726170 && load<u32>(name, 8) == 0x79656b6e;
}

function addExtension(name: usize, length: usize, value: usize, valueLength: usize): bool {
  // A name that begins with a digit may come earlier when JavaScript lists an object's members.
  if (extensionCount == extensionsMax || load<u8>(name) < 97) return false;
  for (let i: usize = 0; i < extensionCount; i++) {
    const at = extensions + (i << 4);
    if (load<u32>(at, 4) == <u32>length && sameText(load<u32>(at), name, length)) return false;
  }
  const at = extensions + (extensionCount << 4);
  store<u32>(at, <u32>name);
  store<u32>(at, <u32>length, 4);
  store<u32>(at, <u32>value, 8);
  store<u32>(at, <u32>valueLength, 12);
  extensionCount++;
  memberKind = extensionMember;
  if (isKey(at)) {
    keyAt = value;
    keyLength = valueLength;
    return valueLength > 0;
  }
  return true;
}

/** Takes an attribute whose value is a plain string; false for what the other way must look at. */
function takeAttribute(name: usize, length: usize, value: usize, valueLength: usize): bool {
  const start = load<u64>(name);
  memberKind = fixedMember;
  switch (<i32>length) {
    case 2:
      if (<u16>start != 0x6469) break; // id
      if (idLength != 0) return false;
      memberKind = idMember;
      idAt = value;
      idLength = valueLength;
      return valueLength > 0;
    case 4:
      if (<u32>start == 0x65707974) { // type
        if (typeLength != 0) return false;
        memberKind = typeMember;
        typeAt = value;
        typeLength = valueLength;
        return valueLength > 0;
      }
      if (<u32>start == 0x656d6974) { // time
        if (timeLength != 0 || !isTimestamp(value, valueLength)) return false;
        memberKind = timeMember;
        timeAt = value;
        timeLength = valueLength;
        return true;
      }
      break;
    case 6:
      if ((start & 0xffffffffffff) != 0x656372756f73) break; // source
      if (sourceLength != 0 || valueLength == 0 || !checkSource(value, valueLength)) return false;
      memberKind = sourceMember;
      sourceAt = value;
      sourceLength = valueLength;
      return true;
    case 7:
      if ((start & 0xffffffffffffff) != 0x7463656a627573) break; // subject
      if (subjectLength != 0) return false;
      memberKind = subjectMember;
      subjectAt = value;
      subjectLength = valueLength;
      return valueLength > 0;
    case 10:
      if (start == 0x6568637361746164 && load<u16>(name, 8) == 0x616d) return false; // dataschema
      break;
    case 11:
      if (start != 0x7372657663657073 || (load<u32>(name, 8) & 0xffffff) != 0x6e6f69) break; // specversion
      if (hasVersion || valueLength != 3 || (load<u32>(value) & 0xffffff) != 0x302e31) return false; // 1.0
      hasVersion = true;
      return true;
    case 15:
      if (start != 0x746e6f6361746164 || load<u64>(name, 7) != 0x65707974746e6574) break; // datacontenttype
      if (hasContentType || valueLength != 16) return false;
      // application/json
      if (load<u64>(value) != 0x746163696c707061 || load<u64>(value, 8) != 0x6e6f736a2f6e6f69) return false;
      hasContentType = true;
      return true;
    default:
  }
  return addExtension(name, length, value, valueLength);
}

/**
 * Reads an event that has the members of the one before it, with the same text between their values. Returns the place
 * after it, 0 for any other. Takes half as long as reading it member by member.
 */
function takeSimilar(at: usize): usize {
  for (let member = layout; member < layoutEnd; member += 16) {
    const gap: usize = load<u32>(member, 4);
    if (!isSame(load<u32>(member), at, gap)) return 0;
    at += gap;
    const kind = load<u32>(member, 8);
    if (kind == dataMember) {
      dataAt = at;
      at = valueEnd(at);
      if (at == 0) return 0;
      dataLength = at - dataAt;
      continue;
    }
    // What is the same with the quote after it is as good as it was before.
    if (kind == sourceMember && isSame(sourceAt, at, sourceLength + 1)) {
      sourceAt = at;
      at += sourceLength;
      continue;
    }
    if (kind == typeMember && isSame(typeAt, at, typeLength + 1)) {
      typeAt = at;
      at += typeLength;
      continue;
    }
    const value = at;
    at = plainEnd(value);
    if (at == 0) return 0;
    const length = at - value;
    if (kind == extensionMember) {
      const extension = extensions + (load<u32>(member, 12) << 4);
      store<u32>(extension, <u32>value, 8);
      store<u32>(extension, <u32>length, 12);
      if (!isKey(extension)) continue;
      keyAt = value;
      keyLength = length;
    } else if (kind == idMember) {
      idAt = value;
      idLength = length;
    } else if (kind == typeMember) {
      typeAt = value;
      typeLength = length;
    } else if (kind == subjectMember) {
      subjectAt = value;
      subjectLength = length;
    } else if (kind == timeMember) {
      if (!isTimestamp(value, length)) return 0;
      timeAt = value;
      timeLength = length;
    } else {
      if (length == 0 || !checkSource(value, length)) return 0;
      sourceAt = value;
      sourceLength = length;
    }
    if (length == 0) return 0;
  }
  return isSame(tailAt, at, tailLength) ? at + tailLength : 0;
}

/** Reads one event from its brace on; returns the place after it, 0 for what the other way must look at. */
function takeEvent(at: usize): usize {
  if (layoutEnd != layout) {
    const end = takeSimilar(at);
    if (end != 0) return end;
  }
  return takeMembers(at);
}

function takeMembers(at: usize): usize {
  idLength = 0;
  sourceLength = 0;
  typeLength = 0;
  subjectLength = 0;
  timeLength = 0;
  keyLength = 0;
  dataAt = 0;
  dataLength = 0;
  extensionCount = 0;
  hasVersion = false;
  hasContentType = false;
  layoutEnd = layout;
  let gapAt = at;
  let members: usize = 0;
  if (load<u8>(at) != 123) return 0;
  at = skipSpace(at + 1);
  while (true) {
    if (load<u8>(at) != 34) return 0;
    const name = at + 1;
    const length = nameLength(name);
    if (length == 0) return 0;
    at = skipSpace(name + length + 1);
    if (load<u8>(at) != 58) return 0;
    at = skipSpace(at + 1);
    if (length == 4 && load<u32>(name) == 0x61746164) { // data
      if (dataAt != 0) return 0;
      dataAt = at;
      at = valueEnd(at);
      if (at == 0) return 0;
      dataLength = at - dataAt;
      noteMember(members++, gapAt, dataAt, dataMember);
      gapAt = at;
    } else {
      if (load<u8>(at) != 34) return 0;
      const value = at + 1;
      at = plainEnd(value);
      if (at == 0 || !takeAttribute(name, length, value, at - value)) return 0;
      if (memberKind != fixedMember) {
        noteMember(members++, gapAt, value, memberKind);
        gapAt = at;
      }
      at++;
    }
    at = skipSpace(at);
    const c = load<u8>(at);
    if (c == 125) break;
    if (c != 44) return 0;
    at = skipSpace(at + 1);
  }
  if (!hasVersion || idLength == 0 || sourceLength == 0 || typeLength == 0) return 0;
  tailAt = gapAt;
  tailLength = at + 1 - gapAt;
  if (members <= membersMax) layoutEnd = layout + (members << 4);
  return at + 1;
}

@inline
function noteMember(member: usize, gapAt: usize, value: usize, kind: u32): void {
  if (member >= membersMax) return;
  const at = layout + (member << 4);
  store<u32>(at, <u32>gapAt);
  store<u32>(at, <u32>(value - gapAt), 4);
  store<u32>(at, kind, 8);
  store<u32>(at, <u32>extensionCount - 1, 12);
}

/** What the record of the event takes when it is read, which is more than what is stored of it. */
function recordBytes(): usize {
  let bytes = recordFixedBytes + keyLength + dataLength + specversionBytes;
  bytes += idBytes + idLength + sourceBytes + sourceLength + typeBytes + typeLength;
  if (subjectLength > 0) bytes += subjectBytes + subjectLength;
  if (timeLength > 0) bytes += timeBytes + timeLength;
  for (let i: usize = 0; i < extensionCount; i++) {
    const extension = extensions + (i << 4);
    bytes += extensionBytes + load<u32>(extension, 4) + load<u32>(extension, 12);
  }
  if (hasContentType || dataAt != 0) bytes += contentTypeBytes;
  return bytes;
}

/** Writes the record of the event that was read last; returns the place after it. */
function putRecord(to: usize): usize {
  let headers: usize = 4 + extensionCount;
  if (subjectLength > 0) headers++;
  if (timeLength > 0) headers++;
  if (hasContentType || dataAt != 0) headers++;
  let at = putCount(to, keyLength > 0 ? keyLength + 1 : 0);
  at = putCount(at, dataAt != 0 ? dataLength + 1 : 0);
  at = putCount(at, headers);
  if (keyLength > 0) at = copyShort(at, keyAt, keyLength);
  if (dataAt != 0) at = copyLong(at, dataAt, dataLength);
  // Always 1.0, which is what it is before anything else is said.
  store<u8>(at, <u8>(specversionName | sameValue));
  store<u8>(at, <u8>idName, 1);
  at = putValue(at + 2, idAt, idLength);
  at = putHeader(at, sourceName, sourceAt, sourceLength);
  at = putHeader(at, typeName, typeAt, typeLength);
  if (subjectLength > 0) at = putHeader(at, subjectName, subjectAt, subjectLength);
  if (timeLength > 0) at = putHeader(at, timeName, timeAt, timeLength);
  for (let i: usize = 0; i < extensionCount; i++) {
    const extension = extensions + (i << 4);
    const value = load<u32>(extension, 8);
    at = putExtension(at, load<u32>(extension), load<u32>(extension, 4), value, load<u32>(extension, 12));
  }
  // Likewise application/json.
  if (hasContentType || dataAt != 0) store<u8>(at++, <u8>(contentTypeName | sameValue));
  return at;
}

const multiplier: u32 = 0x5bd1e995;
/** Source and id joined. */
const joined: usize = memory.data(1088, 16);

/** The partition that Kafka's default partitioner chooses for the event's key, subject, or source and id. */
function partitionOf(partitions: u32): u32 {
  let at = keyAt;
  let length = keyLength;
  if (length == 0) {
    at = subjectAt;
    length = subjectLength;
  }
  if (length == 0) {
    at = joined;
    length = copyShort(copyShort(joined, sourceAt, sourceLength), idAt, idLength) - joined;
  }
  let hash: u32 = 0x9747b28c ^ <u32>length;
  while (length >= 4) {
    let word = load<u32>(at) * multiplier;
    word ^= word >> 24;
    hash = (hash * multiplier) ^ (word * multiplier);
    at += 4;
    length -= 4;
  }
  if (length > 0) {
    if (length == 3) hash ^= <u32>load<u8>(at, 2) << 16;
    if (length >= 2) hash ^= <u32>load<u8>(at, 1) << 8;
    hash = (hash ^ <u32>load<u8>(at)) * multiplier;
  }
  hash = (hash ^ (hash >> 13)) * multiplier;
  hash ^= hash >> 15;
  return (hash & 0x7fffffff) % partitions;
}

/**
 * Reads a batch of events, or one event where `isBatch` is not set, and writes their compact records from `to` on, their
 * digests, 16 bytes each, from `digests` on, and where there are several partitions, of each event its partition, where its
 * record ends and what it takes when it is read, from `places` on. What records take when they are read may be at most
 * `expandedMax`. Returns how many events there are, at most `countMax`, or -1 for a text that is not of the plainest
 * form, or wrong.
 */
export function decode(
  from: usize,
  end: usize,
  isBatch: bool,
  to: usize,
  expandedMax: usize,
  digests: usize,
  places: usize,
  countMax: i32,
  partitions: u32,
  prefix: usize,
  prefixBytes: usize,
  digestKey: usize,
): i32 {
  hasNonAscii = false;
  digestsTo = digests;
  digestKeyAt = digestKey;
  startMessages(prefix, prefixBytes);
  forgetValues();
  layoutEnd = layout;
  let expanded: usize = 0;
  let count: i32 = 0;
  let at = skipSpace(from);
  if (isBatch) {
    if (load<u8>(at) != 91) return -1;
    at = skipSpace(at + 1);
  }
  while (true) {
    at = takeEvent(at);
    if (at == 0 || count == countMax) return -1;
    const bytes = recordBytes();
    expanded += bytes;
    if (expanded > expandedMax) return -1;
    // Also what makes source and id fit where they are joined.
    if (prefixBytes + sourceLength + idLength + 10 > messageBytesMax) return -1;
    putDigest(sourceAt, sourceLength, idAt, idLength);
    to = putRecord(to);
    if (partitions > 1) {
      store<u32>(places, partitionOf(partitions));
      store<u32>(places, <u32>to, 4);
      store<u32>(places, <u32>bytes, 8);
      places += 12;
      forgetValues();
    }
    count++;
    at = skipSpace(at);
    if (!isBatch) break;
    const c = load<u8>(at);
    if (c == 93) {
      at = skipSpace(at + 1);
      break;
    }
    if (c != 44) return -1;
    at = skipSpace(at + 1);
  }
  if (at != end) return -1;
  writtenTo = to;
  expandedBytes = expanded;
  return count;
}
