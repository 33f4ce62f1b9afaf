import { asBuffer, copyInto } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import type { Bytes } from "../../port/store.ts";

/**
 * What the nodes of a cluster write to their shared log.
 *
 * `begin`: a node becomes the owner. `beat`: the owner is there. `commit`: one commit of the store, or a part of it. `handover`: the owner
 * gives its place up. `presence`: a node that is not the owner is there; it changes nothing.
 */
export type EntryKind = "begin" | "beat" | "commit" | "handover" | "presence";

const kinds: readonly EntryKind[] = ["begin", "beat", "commit", "handover", "presence"];

export interface EntryHead {
  readonly kind: EntryKind;
  readonly epoch: number;
  /** One life of a process. A node that starts again is another writer: what its last life sent may still arrive. */
  readonly writer: string;
  /** Counts the entries of an epoch; 0 for `begin`. */
  readonly seq: number;
  /** Of the commit, as the store counts them; for other kinds, of the last commit before. */
  readonly position: number;
  /** Another part of the same commit follows. */
  readonly hasMore: boolean;
}

export interface LogRecord extends EntryHead {
  readonly body: Buffer;
}

/**
 * u8 version · u8 kind · u8 flags · u8 length of the writer · u32 checksum of all else · u48 epoch · u48 seq · u48 position · writer ·
 * body. Big endian.
 */
const formatVersion = 1;
const headBytes = 26;
const checksumAt = 4;
const moreFlag = 1;

/** What an entry needs besides its body. */
export const overheadBytesMax = headBytes + 255;

export function encodeRecord(head: EntryHead, body: Bytes): Buffer {
  const writer = Buffer.from(head.writer, "latin1");
  const bytes = Buffer.allocUnsafe(headBytes + writer.length + body.length);
  bytes[0] = formatVersion;
  bytes[1] = kinds.indexOf(head.kind);
  bytes[2] = head.hasMore ? moreFlag : 0;
  bytes[3] = writer.length;
  bytes.writeUIntBE(head.epoch, 8, 6);
  bytes.writeUIntBE(head.seq, 14, 6);
  bytes.writeUIntBE(head.position, 20, 6);
  writer.copy(bytes, headBytes);
  copyInto(bytes, headBytes + writer.length, body);
  bytes.writeUInt32BE(checksum(bytes), checksumAt);
  return bytes;
}

/** Undefined for what is no entry of ours, or was damaged: every reader skips it. */
export function decodeRecord(input: Bytes): LogRecord | undefined {
  const bytes = asBuffer(input);
  if (bytes.length < headBytes || bytes[0] !== formatVersion) return undefined;
  const kind = kinds[bytes[1]!];
  const bodyAt = headBytes + bytes[3]!;
  if (kind === undefined || bodyAt > bytes.length) return undefined;
  if (bytes.readUInt32BE(checksumAt) !== checksum(bytes)) return undefined;
  return {
    kind,
    hasMore: (bytes[2]! & moreFlag) !== 0,
    epoch: bytes.readUIntBE(8, 6),
    seq: bytes.readUIntBE(14, 6),
    position: bytes.readUIntBE(20, 6),
    writer: bytes.latin1Slice(headBytes, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(checksumAt + 4), crc32(bytes.subarray(0, checksumAt)));
}

/** What a node tells of itself. */
export interface NodeInfo {
  readonly node: string;
  /** Where other nodes reach it: the main port, and the others where it has them, each as `host:port`. */
  readonly address: string;
  readonly live?: string;
  readonly postgres?: string;
  readonly mysql?: string;
  readonly version?: string;
  /** The newest commit that it has. */
  readonly position?: number;
  /** Its disk has no room. */
  readonly full?: true;
  /** Told by the owner: the nodes that are not to become one. */
  readonly drained?: readonly string[];
}

export function encodeInfo(info: NodeInfo | { readonly to?: string }): Buffer {
  return Buffer.from(JSON.stringify(info));
}

/** Undefined where it is not what a node writes. */
export function decodeInfo(body: Buffer): NodeInfo | undefined {
  const found = parsed(body);
  return typeof found["node"] === "string" && typeof found["address"] === "string"
    ? (found as unknown as NodeInfo)
    : undefined;
}

/** Whom a handover names. */
export function decodeSuccessor(body: Buffer): string | undefined {
  const { to } = parsed(body);
  return typeof to === "string" ? to : undefined;
}

function parsed(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
