/**
 * Bytes as Postgres writes them: `\x` and hexadecimal digits, or the older form, bytes as they are with `\\` and octal
 * `\ooo`. Undefined for what is neither.
 */
export function parseBytea(text: string): Buffer | undefined {
  if (text.startsWith("\\x")) {
    const digits = text.slice(2).replace(/\s/g, "");
    return /^(?:[0-9a-fA-F]{2})*$/.test(digits) ? Buffer.from(digits, "hex") : undefined;
  }
  // Escapes are longer than what they mean, so the bytes are put together in place.
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; length++) {
    const octal = bytes[at] === backslash ? /^\\([0-3][0-7]{2})/.exec(bytes.toString("latin1", at, at + 4)) : null;
    const isSlash = bytes[at] === backslash && bytes[at + 1] === backslash;
    if (bytes[at] === backslash && octal === null && !isSlash) return undefined;
    bytes[length] = octal === null ? bytes[at]! : Number.parseInt(octal[1]!, 8);
    at += octal === null ? (isSlash ? 2 : 1) : 4;
  }
  return bytes.subarray(0, length);
}

const backslash = 0x5c;
