import { createHash } from "node:crypto";
import {
  type ArchiveHead,
  archiveVersion,
  type Checksums,
  checksumLine,
  checksumsMember,
  headMember,
  lastMember,
  type StoreName,
  storeNames,
} from "./archive.ts";
import { ArchiveError, readTar } from "./tar.ts";

export interface ArchiveSummary {
  readonly head: ArchiveHead;
  readonly members: number;
  readonly bytes: number;
  readonly entries: Readonly<Record<StoreName, number>>;
}

/** What is done with a member's data; without it they are only verified. */
export interface ArchiveSink {
  /** Entries of a store, a whole member at a time. */
  entries?(store: StoreName, data: Buffer): Promise<void>;
  object?(path: string, data: AsyncIterable<Uint8Array>): Promise<void>;
}

/** A member with entries is held whole; a single value is at most about as large as a request. */
const entriesBytesMax = 64 * 1024 * 1024;

/**
 * Reads an archive to its end and checks every member against the checksums at its end. Only when it resolves may what
 * the sink took be used.
 */
export async function verifyArchive(
  pieces: AsyncIterable<Uint8Array>,
  sink: ArchiveSink = {},
): Promise<ArchiveSummary> {
  const seen = new Map<string, { bytes: number; sha256: string }>();
  let head: ArchiveHead | undefined;
  let checksums: Buffer | undefined;
  let isWhole = false;
  for await (const { name, bytes, data } of readTar(pieces)) {
    if (isWhole) throw new ArchiveError(`${name} follows the end of the backup`);
    if (name !== headMember && head === undefined) throw new ArchiveError("this is no backup of this program");
    if (seen.has(name)) throw new ArchiveError(`${name} is there twice`);
    if (checksums !== undefined) {
      const line = await whole(name, bytes, data);
      if (name !== lastMember || line.toString() !== checksumLine(checksums)) {
        throw new ArchiveError(`${checksumsMember} is damaged`);
      }
      isWhole = true;
    } else if (name === checksumsMember) checksums = await whole(name, bytes, data);
    else {
      const hash = createHash("sha256");
      const hashed = (async function* () {
        for await (const piece of data) {
          hash.update(piece);
          yield piece;
        }
      })();
      if (name === headMember) head = checkHead(parse<ArchiveHead>(name, await whole(name, bytes, hashed)));
      else await take(sink, name, bytes, hashed);
      for await (const _ of hashed);
      seen.set(name, { bytes, sha256: hash.digest("hex") });
    }
  }
  if (head === undefined || checksums === undefined || !isWhole) throw new ArchiveError("the backup ends too early");
  const expected = parse<Checksums>(checksumsMember, checksums);
  compare(expected, seen);
  const bytes = [...seen.values()].reduce((sum, each) => sum + each.bytes, 0);
  return { head, members: seen.size, bytes, entries: expected.entries };
}

async function take(sink: ArchiveSink, name: string, bytes: number, data: AsyncIterable<Uint8Array>): Promise<void> {
  const slash = name.indexOf("/");
  const folder = name.slice(0, slash);
  const store = storeNames.find((each) => each === folder);
  if (store !== undefined) await sink.entries?.(store, await whole(name, bytes, data));
  else if (folder === "objects") await sink.object?.(name.slice(slash + 1), data);
  else throw new ArchiveError(`${name} is no part of a backup`);
}

async function whole(name: string, bytes: number, data: AsyncIterable<Uint8Array>): Promise<Buffer> {
  if (bytes > entriesBytesMax) throw new ArchiveError(`${name} is too large`);
  const parts: Uint8Array[] = [];
  for await (const part of data) parts.push(part);
  return Buffer.concat(parts);
}

function parse<T>(name: string, text: Buffer): T {
  try {
    return JSON.parse(text.toString()) as T;
  } catch {
    throw new ArchiveError(`${name} can't be read`);
  }
}

function checkHead(head: ArchiveHead): ArchiveHead {
  if (head.version <= archiveVersion) return head;
  throw new ArchiveError(
    `the backup has version ${head.version}; this build reads up to ${archiveVersion}: restore it with a newer build`,
  );
}

function compare({ members }: Checksums, seen: ReadonlyMap<string, { bytes: number; sha256: string }>): void {
  for (const { name, bytes, sha256 } of members) {
    const found = seen.get(name);
    if (found === undefined) throw new ArchiveError(`${name} is missing`);
    if (found.bytes !== bytes || found.sha256 !== sha256) throw new ArchiveError(`${name} is damaged`);
  }
  if (members.length !== seen.size) throw new ArchiveError("the backup has members that it does not name");
}
