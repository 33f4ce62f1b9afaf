import type { SeededRandom } from "../fault/random.ts";

export interface WriteLosses {
  /** Writes that were not synced when the power failed, those of them that are lost, and those that are there in part. */
  writesUnsynced: number;
  writesLost: number;
  writesTorn: number;
}

type Change =
  | { readonly kind: "write"; readonly at: number; readonly data: Buffer; synced: boolean }
  | { readonly kind: "resize"; readonly bytes: number; synced: boolean };

const sectorBytes = 512;
const pageBytes = 4096;

/** One file: its bytes at the start, and what was done to it since. */
export class DiskFile {
  readonly #before: Buffer;
  readonly #changes: Change[] = [];
  isUnseen = false;

  constructor(before: Buffer) {
    this.#before = before;
  }

  get length(): number {
    return this.#changes.length;
  }

  write(at: number, data: Buffer, synced: boolean): void {
    if (synced) {
      // It takes with it what its pages held before.
      const [from, to] = [Math.floor(at / pageBytes) * pageBytes, at + data.length];
      for (const change of this.#changes) {
        if (change.kind === "write" && change.at < to && change.at + change.data.length > from) change.synced = true;
      }
    }
    this.#changes.push({ kind: "write", at, data, synced });
  }

  resize(bytes: number): void {
    this.#changes.push({ kind: "resize", bytes, synced: false });
  }

  synced(count: number): void {
    for (const change of this.#changes.slice(0, count)) change.synced = true;
  }

  /** It is written to through a mapping or a stream of the C library. */
  unseen(): void {
    this.isUnseen = true;
  }

  whole(): Buffer {
    const content = new Content(this.#before);
    for (const change of this.#changes) {
      if (change.kind === "resize") content.resize(change.bytes);
      else content.write(change.at, change.data);
    }
    return content.bytes;
  }

  afterPowerLoss(random: SeededRandom, losses: WriteLosses): Buffer {
    const content = new Content(this.#before);
    // Many writes go the same way, as they do when the power fails; some files have it mixed.
    const keep = random.pick([0, 0, 0.1, 0.5, 0.9, 1]);
    const tear = random.pick([0, 0.2, 1]);
    const grain = random.pick([sectorBytes, pageBytes]);
    const hasSize = random.chance(0.3);
    const lost = new Set<number>();
    for (const change of this.#changes) {
      const isKept = change.synced || random.chance(keep);
      if (change.kind === "resize") {
        if (isKept) content.resize(change.bytes);
        continue;
      }
      if (change.synced) {
        content.write(change.at, change.data);
        continue;
      }
      losses.writesUnsynced++;
      const isTorn = random.chance(tear);
      const share = isTorn ? 0.5 : isKept ? 1 : 0;
      const pieces = content.writePieces(change.at, change.data, grain, (piece) => {
        if (!lost.has(piece) && random.chance(share)) return true;
        lost.add(piece);
        return false;
      });
      if (pieces.kept === 0) losses.writesLost++;
      else if (pieces.kept < pieces.all) losses.writesTorn++;
      // A file's size may be on the disk before its bytes are: these are zeros then.
      if (hasSize) content.extend(change.at + change.data.length);
    }
    return content.bytes;
  }
}

/** Bytes that grow as a file does. */
class Content {
  #room: Buffer;
  #length: number;

  constructor(bytes: Buffer) {
    this.#room = Buffer.from(bytes);
    this.#length = bytes.length;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  write(at: number, data: Buffer): void {
    this.extend(at + data.length);
    data.copy(this.#room, at);
  }

  /** Writes those pieces of the grid that are wanted. */
  writePieces(at: number, data: Buffer, grain: number, isWanted: (piece: number) => boolean) {
    let [kept, all] = [0, 0];
    for (let from = at; from < at + data.length; ) {
      const piece = Math.floor(from / grain);
      const to = Math.min(at + data.length, (piece + 1) * grain);
      all++;
      if (isWanted(piece)) {
        kept++;
        this.write(from, data.subarray(from - at, to - at));
      }
      from = to;
    }
    return { kept, all };
  }

  extend(length: number): void {
    if (length <= this.#length) return;
    if (length > this.#room.length) {
      const room = Buffer.alloc(Math.max(length, 2 * this.#room.length));
      this.bytes.copy(room);
      this.#room = room;
    }
    this.#room.fill(0, this.#length, length);
    this.#length = length;
  }

  resize(length: number): void {
    if (length > this.#length) this.extend(length);
    else this.#length = length;
  }
}
