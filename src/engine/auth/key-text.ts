import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "../../port/random.ts";

/**
 * The text of an API key, fixed widths throughout because base64url may hold any of its separators:
 *
 *   nek_  id (16 hex digits)  _  secret (32 random bytes, 43 base64url characters)  checksum (6)
 *
 * The prefix lets a scanner recognise a leaked key, the id finds its record, and the checksum, CRC-32 of all
 * before it, tells a mistyped key from a revoked one without a look at the store.
 */
export const keyPrefix = "nek_";
const idLength = 16;
const secretBytes = 32;
const secretLength = 43;
const checksumLength = 6;
const idStart = keyPrefix.length;
const secretStart = idStart + idLength + 1;
const checksumStart = secretStart + secretLength;
const keyLength = checksumStart + checksumLength;

const keyPattern = /^nek_[0-9a-f]{16}_[A-Za-z0-9_-]{49}$/;

/** SHA-256, in bytes: all that is ever stored of a key. */
export const keyHashBytes = 32;

export interface NewKeyText {
  readonly id: string;
  readonly text: string;
}

export function newKeyText(random: Random): NewKeyText {
  const id = Buffer.from(random.bytes(idLength / 2)).toString("hex");
  const body = `${keyPrefix}${id}_${Buffer.from(random.bytes(secretBytes)).toString("base64url")}`;
  return { id, text: body + checksum(body) };
}

/** The id inside a key, or undefined for what can't be a key of ours. */
export function keyIdOf(text: string): string | undefined {
  if (text.length !== keyLength || !keyPattern.test(text)) return undefined;
  if (checksum(text.slice(0, checksumStart)) !== text.slice(checksumStart)) return undefined;
  return text.slice(idStart, idStart + idLength);
}

/** Writes the key's SHA-256 into `target`; through a string, which is 3 times as fast as asking for a buffer. */
export function hashKeyInto(target: Buffer, text: string): void {
  target.write(hash("sha256", text, "binary"), "latin1");
}

export function hashKey(text: string): Buffer {
  const digest = Buffer.alloc(keyHashBytes);
  hashKeyInto(digest, text);
  return digest;
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString("base64url");
}
