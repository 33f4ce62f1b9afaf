import { readFileSync } from "node:fs";

/** One change of the folder or one half of a sync, in the order in which they happened. */
export type Entry =
  | { readonly kind: "opened"; readonly inode: number; readonly path: string; readonly emptied: boolean }
  | {
      readonly kind: "write";
      readonly inode: number;
      readonly at: number;
      readonly data: Buffer;
      readonly synced: boolean;
    }
  | { readonly kind: "truncate"; readonly inode: number; readonly bytes: number }
  | { readonly kind: "rename" | "link"; readonly from: string; readonly to: string }
  | { readonly kind: "unlink" | "rmdir"; readonly path: string }
  | { readonly kind: "mkdir"; readonly inode: number; readonly path: string }
  | { readonly kind: "sync_begin" | "sync_end"; readonly inode: number; readonly number: number }
  | { readonly kind: "unseen"; readonly inode: number };

const magic = 0x504f5752;
const headBytes = 48;

/** What the shim wrote down (shim.c). A last entry that the kill cut off is left out: nobody was told of its change. */
export function readJournal(file: string): Entry[] {
  const bytes = readFileSync(file);
  const entries: Entry[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    if (bytes.readUInt32LE(at) !== magic) throw new Error(`${file} is damaged at ${at}`);
    const [first, second] = [bytes.readUInt32LE(at + 32), bytes.readUInt32LE(at + 36)];
    const length = Number(bytes.readBigUInt64LE(at + 40));
    const paths = at + headBytes;
    const data = paths + first + second;
    const end = data + length + 4;
    if (end > bytes.length || bytes.readUInt32LE(end - 4) !== magic) break;
    entries.push(
      entryOf(bytes, at, {
        path: bytes.toString("utf8", paths, paths + first),
        other: bytes.toString("utf8", paths + first, data),
        data: bytes.subarray(data, data + length),
      }),
    );
    at = end;
  }
  return entries;
}

function entryOf(
  bytes: Buffer,
  at: number,
  { path, other, data }: { path: string; other: string; data: Buffer },
): Entry {
  const inode = Number(bytes.readBigUInt64LE(at + 8));
  const [a, b] = [Number(bytes.readBigUInt64LE(at + 16)), Number(bytes.readBigUInt64LE(at + 24))];
  const kind = bytes.readUInt32LE(at + 4);
  switch (kind) {
    case 1:
      return { kind: "opened", inode, path, emptied: a === 1 };
    case 2:
      return { kind: "write", inode, at: a, data, synced: b === 1 };
    case 3:
      return { kind: "truncate", inode, bytes: a };
    case 4:
      return { kind: "rename", from: path, to: other };
    case 5:
      return { kind: "link", from: path, to: other };
    case 6:
      return { kind: "unlink", path };
    case 7:
      return { kind: "mkdir", inode, path };
    case 8:
      return { kind: "rmdir", path };
    case 9:
      return { kind: "sync_begin", inode, number: a };
    case 10:
      return { kind: "sync_end", inode, number: a };
    case 11:
    case 12:
      return { kind: "unseen", inode };
    default:
      throw new Error(`the journal has an entry of kind ${kind}`);
  }
}
