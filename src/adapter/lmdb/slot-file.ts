import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { asBuffer } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import { type Bytes, type Store, StoreError, type WriteOp } from "../../port/store.ts";

/**
 * The file beside the store that builds of formats 4 to 6 wrote small appends to. It is only read, once, to take it over.
 *
 * A ring of pages, numbered on from lap to lap: the one with number n is page n modulo their count. A write takes one or more of them: u32 magic · u32 crc32 of
 * what follows · 16 bytes id of the file · u64 number of its first page · u32 length of the key · u32 length of the value · key · value. Every
 * page after the first begins with four zeros that are no part of it. Big endian. The store's mark says whose file it is (16 bytes), from which
 * number on its writes count (u64), and whether it was given up (one byte), behind a u32 crc32; one more byte tells of writes of several pages.
 */
const pageBytes = 4096;
const pagesMax = 8;
const idBytes = 16;
const magic = 0x4e454a31;
const headBytes = 40;
const gapBytes = 4;
const markBytes = idBytes + 8 + 1;

interface SlotWrite {
  readonly number: number;
  readonly pages: number;
  readonly put: WriteOp;
}

interface Mark {
  readonly id: Buffer;
  readonly from: number;
  readonly isClosed: boolean;
}

/** Puts what the file holds into the store, and forgets the file. Killed in between, it is done again. */
export async function takeOverSlotFile(store: Store, folder: string, markKey: Bytes): Promise<void> {
  const path = join(folder, "journal");
  const stored = store.get(markKey);
  if (stored !== undefined) {
    const mark = decodeMark(stored);
    const puts = mark.isClosed ? [] : readWrites(path, mark).map(({ put }) => put);
    await store.commit([...puts, { kind: "delete", key: markKey }]);
  }
  for (const name of [path, `${path}.new`]) rmSync(name, { force: true });
}

function readWrites(path: string, { id, from }: Mark): SlotWrite[] {
  let file: Buffer;
  try {
    file = readFileSync(path);
  } catch {
    throw damaged("the store's journal, the file beside it, is gone");
  }
  const count = Math.floor(file.length / pageBytes);
  const writes: SlotWrite[] = [];
  for (let page = 0; page < count; page++) {
    const found = decodeWrite(file, page);
    if (found === undefined) continue;
    if (!found.id.equals(id)) throw damaged("the journal belongs to another store");
    if (found.write.number >= from) writes.push(found.write);
  }
  writes.sort((a, b) => a.number - b.number);
  let next = from;
  for (const { number, pages } of writes) {
    // One that would not fit in before the end of the ring begins at its start.
    const place = next % count;
    if (number !== (place + pages > count ? next + count - place : next)) {
      throw damaged("a write in the store's journal is damaged");
    }
    next = number + pages;
  }
  return writes;
}

function decodeWrite(file: Buffer, page: number): { readonly id: Buffer; readonly write: SlotWrite } | undefined {
  const bytes = file.subarray(page * pageBytes, (page + pagesMax) * pageBytes);
  if (bytes.length < pageBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  const keyLength = bytes.readUInt32BE(32);
  const length = keyLength + bytes.readUInt32BE(36);
  const further = Math.max(0, length - (pageBytes - headBytes));
  const pages = 1 + Math.ceil(further / (pageBytes - gapBytes));
  const end = headBytes + length + (pages - 1) * gapBytes;
  if (end > bytes.length || bytes.readUInt32BE(4) !== crc32(bytes.subarray(8, end))) return undefined;
  const pieces = [bytes.subarray(headBytes, Math.min(end, pageBytes))];
  for (let at = pageBytes; at < end; at += pageBytes) {
    pieces.push(bytes.subarray(at + gapBytes, Math.min(end, at + pageBytes)));
  }
  const payload = Buffer.concat(pieces);
  const put: WriteOp = { kind: "put", key: payload.subarray(0, keyLength), value: payload.subarray(keyLength) };
  return { id: bytes.subarray(8, 8 + idBytes), write: { number: Number(bytes.readBigUInt64BE(24)), pages, put } };
}

function decodeMark(stored: Bytes): Mark {
  const bytes = asBuffer(stored);
  const isLong = bytes.length === 4 + markBytes || bytes.length === 4 + markBytes + 1;
  if (!isLong || bytes.readUInt32BE() !== crc32(bytes.subarray(4))) {
    throw damaged("the store's mark of its journal is damaged");
  }
  return {
    id: Buffer.from(bytes.subarray(4, 4 + idBytes)),
    from: Number(bytes.readBigUInt64BE(4 + idBytes)),
    isClosed: bytes[4 + idBytes + 8] === 1,
  };
}

function damaged(what: string): StoreError {
  return new StoreError("damaged", `${what}; restore the data from a backup`);
}
