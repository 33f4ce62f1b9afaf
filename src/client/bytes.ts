/** Base64 in browsers and servers alike; newer runtimes bring it along and are faster at it. */
interface Base64Bytes {
  toBase64?: () => string;
}
interface Base64Parser {
  fromBase64?: (text: string) => Uint8Array;
}

const encoder = new TextEncoder();
/** `String.fromCharCode` takes its bytes as arguments, of which there can't be too many. */
const pieceBytes = 8 * 1024;

export function toBase64(value: string | Uint8Array): string {
  const bytes = typeof value === "string" ? encoder.encode(value) : value;
  const { toBase64: own } = bytes as Base64Bytes;
  if (own !== undefined) return own.call(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  }
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array {
  const { fromBase64: own } = Uint8Array as Base64Parser;
  if (own !== undefined) return own(text);
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = decoded.charCodeAt(i);
  return bytes;
}
