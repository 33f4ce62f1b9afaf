/**
 * The value rules of CloudEvents 1.0.2 (type system), as checks that return a reason or a boolean and never throw.
 * They walk the text by hand: every event passes through them, and a regular expression with repeated groups could
 * exhaust its stack on an attribute of megabytes.
 */

/** Attribute names are lower-case ASCII letters and digits. */
export function isAttributeName(name: string): boolean {
  const length = name.length;
  if (length === 0) return false;
  for (let at = 0; at < length; at++) {
    const code = name.charCodeAt(at);
    if (!((code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39))) return false;
  }
  return true;
}

/** Why the text is no CloudEvents String, or undefined when it is one. */
export function stringFault(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 && code <= 0x7e) continue;
    if (code < 0xa0) return "has a control character";
    if (code < 0xd800) continue;
    if (code <= 0xdfff) {
      const next = text.charCodeAt(at + 1);
      if (code >= 0xdc00 || !(next >= 0xdc00 && next <= 0xdfff)) return "has an unpaired surrogate";
      if ((code & 0x3f) === 0x3f && next >= 0xdffe) return "has a Unicode noncharacter";
      at++;
    } else if ((code >= 0xfdd0 && code <= 0xfdef) || code >= 0xfffe) {
      return "has a Unicode noncharacter";
    }
  }
  return undefined;
}

const unreservedOrSubDelims = 1;
const colonOrAt = 2;
const slashOrQuestion = 4;
const hexDigit = 8;
const schemeRest = 16;
const uriClass = new Uint8Array(128);
for (const [characters, bit] of [
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=", unreservedOrSubDelims],
  [":@", colonOrAt],
  ["/?", slashOrQuestion],
  ["0123456789ABCDEFabcdef", hexDigit],
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.", schemeRest],
] as const) {
  for (const character of characters) uriClass[character.charCodeAt(0)]! |= bit;
}

function isClass(code: number, bits: number): boolean {
  return code < 128 && (uriClass[code]! & bits) !== 0;
}

/** Whether text[from, to) has only characters of the classes, and `%` only before two hexadecimal digits. */
function consistsOf(text: string, from: number, to: number, bits: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (isClass(code, bits)) continue;
    if (code !== 0x25 || at + 2 >= to) return false;
    if (!isClass(text.charCodeAt(at + 1), hexDigit) || !isClass(text.charCodeAt(at + 2), hexDigit)) return false;
    at += 2;
  }
  return true;
}

/** The length of a scheme at the start, without its colon, or 0. */
function schemeLength(text: string): number {
  const first = text.charCodeAt(0) | 0x20;
  if (!(first >= 0x61 && first <= 0x7a)) return 0;
  let at = 1;
  while (at < text.length && isClass(text.charCodeAt(at), schemeRest)) at++;
  return text.charCodeAt(at) === 0x3a ? at : 0;
}

function isAuthority(text: string, from: number, to: number): boolean {
  let at = from;
  const userEnd = text.indexOf("@", from);
  if (userEnd !== -1 && userEnd < to) {
    if (!consistsOf(text, from, userEnd, unreservedOrSubDelims | colonOrAt)) return false;
    at = userEnd + 1;
  }
  let hostEnd: number;
  if (text.charCodeAt(at) === 0x5b) {
    const close = text.indexOf("]", at);
    if (close === -1 || close >= to || !isIpLiteral(text.slice(at + 1, close))) return false;
    hostEnd = close + 1;
  } else {
    const colon = text.indexOf(":", at);
    hostEnd = colon === -1 || colon > to ? to : colon;
    if (!consistsOf(text, at, hostEnd, unreservedOrSubDelims)) return false;
  }
  if (hostEnd === to) return true;
  if (text.charCodeAt(hostEnd) !== 0x3a) return false;
  for (let i = hostEnd + 1; i < to; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** IPv6 in the form of RFC 3986 with at most one `::`, or an IPvFuture. */
function isIpLiteral(text: string): boolean {
  if (/^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i.test(text)) return true;
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [h, half] of halves.entries()) {
    if (half === "") continue;
    const parts = half.split(":");
    for (const [i, part] of parts.entries()) {
      const last = h === halves.length - 1 && i === parts.length - 1;
      if (last && part.includes(".")) {
        if (!/^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(part)) return false;
        groups += 2;
      } else {
        if (!/^[0-9a-f]{1,4}$/i.test(part)) return false;
        groups++;
      }
    }
  }
  return halves.length === 2 ? groups <= 7 : groups === 8;
}

/** From `at` (after the scheme) to the end: authority, path, query, fragment. */
function isHierarchy(text: string, at: number): boolean {
  const hash = text.indexOf("#", at);
  const fragmentAt = hash === -1 ? text.length : hash;
  let pathAt = at;
  if (text.startsWith("//", at)) {
    let authorityEnd = at + 2;
    while (authorityEnd < fragmentAt && !isClass(text.charCodeAt(authorityEnd), slashOrQuestion)) authorityEnd++;
    if (!isAuthority(text, at + 2, authorityEnd)) return false;
    pathAt = authorityEnd;
  }
  // Path and query have the same characters but for the question mark, which ends the path.
  const anywhere = unreservedOrSubDelims | colonOrAt | slashOrQuestion;
  if (!consistsOf(text, pathAt, fragmentAt, anywhere)) return false;
  return hash === -1 || consistsOf(text, hash + 1, text.length, anywhere);
}

/** RFC 3986 section 4.1, without the empty reference. */
export function isUriReference(text: string): boolean {
  if (text.length === 0) return false;
  const scheme = schemeLength(text);
  if (scheme > 0) return isHierarchy(text, scheme + 1);
  // The first segment of a relative path has no colon, or it would read as a scheme.
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3a) return false;
    if (code === 0x2f || code === 0x3f || code === 0x23) break;
  }
  return isHierarchy(text, 0);
}

/** RFC 3986 section 4.3: a scheme, and no fragment. */
export function isAbsoluteUri(text: string): boolean {
  const scheme = schemeLength(text);
  return scheme > 0 && !text.includes("#") && isHierarchy(text, scheme + 1);
}

/** The number that two digits at `at` make, or -1. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** RFC 3339 `date-time`, with lower-case `t` and `z` and the leap second that it allows. */
export function isTimestamp(text: string): boolean {
  const century = twoDigits(text, 0);
  const yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return false;
  if (day > daysInMonth(century * 100 + yearOfCentury, month)) return false;
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d || (text.charCodeAt(10) | 0x20) !== 0x74) return false;
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
  if (text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a) return false;
  let at = 19;
  if (text.charCodeAt(at) === 0x2e) {
    const from = ++at;
    while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++;
    if (at === from) return false;
  }
  const zone = text.charCodeAt(at);
  if ((zone | 0x20) === 0x7a) return at + 1 === text.length;
  if (zone !== 0x2b && zone !== 0x2d) return false;
  const zoneHour = twoDigits(text, at + 1);
  const zoneMinute = twoDigits(text, at + 4);
  if (zoneHour < 0 || zoneHour > 23 || zoneMinute < 0 || zoneMinute > 59) return false;
  return text.charCodeAt(at + 3) === 0x3a && at + 6 === text.length;
}
