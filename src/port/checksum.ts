import { hash } from "node:crypto";
import { crc32 as narrowCrc32 } from "node:zlib";
import { crc32 as wideCrc32 } from "@node-rs/crc32";

/** From here on a call into the native module pays: it takes many bytes at once, where zlib's takes a few. */
const wideBytesMin = 512;

/** The CRC-32 of zlib and gzip, or that of bytes after others whose checksum is known. */
export function crc32(bytes: Uint8Array, before = 0): number {
  return bytes.length < wideBytesMin ? narrowCrc32(bytes, before) : wideCrc32(bytes, before);
}

/** More than this would hold the thread for too long. */
const atOnceBytesMax = 256 * 1024;

/** SHA-256 in hexadecimal; of many bytes, it is made by another thread. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= atOnceBytesMax || !(bytes.buffer instanceof ArrayBuffer)) return hash("sha256", bytes, "hex");
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)).toString("hex");
}
