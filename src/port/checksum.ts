import { crc32 as narrowCrc32 } from "node:zlib";
import { crc32 as wideCrc32 } from "@node-rs/crc32";

/** From here on a call into the native module pays: it takes many bytes at once, where zlib's takes a few. */
const wideBytesMin = 512;

/** The CRC-32 of zlib and gzip, or that of bytes after others whose checksum is known. */
export function crc32(bytes: Uint8Array, before = 0): number {
  return bytes.length < wideBytesMin ? narrowCrc32(bytes, before) : wideCrc32(bytes, before);
}
