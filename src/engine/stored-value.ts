import { asBuffer } from "../port/bytes.ts";
import { crc32 } from "../port/checksum.ts";
import { damaged } from "./errors.ts";

export const sumBytes = 4;

/** A small stored value with its checksum in front: u32 crc32 of the rest, big endian. */
export function sealValue(...parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(sumBytes), ...parts]);
  bytes.writeUInt32BE(crc32(bytes.subarray(sumBytes)));
  return bytes;
}

/** Completes a value that was written after room for its checksum. */
export function sealInPlace(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32(bytes.subarray(sumBytes)));
  return bytes;
}

/** The value without its checksum, which is verified. */
export function openValue(stored: Uint8Array): Buffer {
  const bytes = asBuffer(stored);
  if (bytes.length < sumBytes || bytes.readUInt32BE() !== crc32(bytes.subarray(sumBytes))) {
    throw damaged("a stored value is damaged (checksum)");
  }
  return bytes.subarray(sumBytes);
}

/** A small value that changes seldom, as JSON. */
export function encode(value: unknown): Buffer {
  return sealValue(Buffer.from(JSON.stringify(value)));
}

export function decode<T>(bytes: Uint8Array): T {
  return JSON.parse(openValue(bytes).toString()) as T;
}
