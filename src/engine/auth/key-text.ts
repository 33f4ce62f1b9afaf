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
const keyPrefix = "nek_";
const idLength = 16;
const secretBytes = 32;
const secretLength = 43;
const checksumLength = 6;
export const idStart = keyPrefix.length;
export const idEnd = idStart + idLength;
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

/** The id that a key of ours would have at its place; cheap, and nothing is checked but the form around it. */
export function claimedKeyId(text: string): string | undefined {
  if (text.length !== keyLength || !text.startsWith(keyPrefix)) return undefined;
  return text.slice(idStart, idStart + idLength);
}

/** Whether a key was written as we write them: neither mistyped nor cut. */
export function isWellFormedKey(text: string): boolean {
  return keyPattern.test(text) && checksum(text.slice(0, checksumStart)) === text.slice(checksumStart);
}

/** SHA-256 with one character for each byte: 3 times as fast to get as a buffer, and good as a map's key. */
export function keyDigest(text: string): string {
  return hash("sha256", text, "binary");
}

export function hashKey(text: string): Buffer {
  return Buffer.from(keyDigest(text), "latin1");
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString("base64url");
}
