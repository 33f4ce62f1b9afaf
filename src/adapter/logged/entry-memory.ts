import assert from "node:assert/strict";

/** An entry's memory, and the piece that it was cut from. */
export interface EntryPlace {
  readonly bytes: Buffer;
  readonly piece: Piece;
}

export interface Piece {
  readonly memory: Buffer;
  used: number;
  /** Entries that were cut from it and are not given back. */
  entries: number;
  /** Somebody may still read it: it is left to the garbage collector. */
  isRead: boolean;
}

/** Pieces that are kept for later: while there are entries, and when the last one was given back. */
const sparePiecesMax = { busy: 24, idle: 2 };

/**
 * Memory for the entries of the log, cut one after another from pieces that are used again: new pages for each entry would cost more than
 * writing it. It is shared, so that another thread can apply the entries.
 */
export class EntryMemory {
  readonly #pieceBytes: number;
  #piece: Piece;
  readonly #spare: Piece[] = [];
  #entries = 0;

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
    this.#piece = newPiece(0);
  }

  cut(bytes: number): EntryPlace {
    const piece = this.#pieceFor(bytes);
    const start = piece.used;
    piece.used += bytes;
    piece.entries++;
    this.#entries++;
    return { bytes: piece.memory.subarray(start, piece.used), piece };
  }

  #pieceFor(bytes: number): Piece {
    // A large entry has memory of its own.
    if (bytes > this.#pieceBytes / 4) return newPiece(bytes);
    if (this.#piece.used + bytes > this.#piece.memory.length) {
      const full = this.#piece;
      this.#piece = this.#spare.pop() ?? newPiece(this.#pieceBytes);
      this.#keep(full);
    }
    return this.#piece;
  }

  /** Gives an entry's memory back. */
  free({ piece }: EntryPlace, isRead: boolean): void {
    assert(piece.entries > 0, "an entry is given back once");
    piece.entries--;
    this.#entries--;
    piece.isRead ||= isRead;
    if (piece !== this.#piece) this.#keep(piece);
    if (this.#entries === 0) this.#spare.splice(sparePiecesMax.idle);
  }

  #keep(piece: Piece): void {
    if (piece.entries > 0 || piece.isRead || piece.memory.length !== this.#pieceBytes) return;
    if (this.#spare.length === sparePiecesMax.busy) return;
    piece.used = 0;
    this.#spare.push(piece);
  }
}

function newPiece(bytes: number): Piece {
  return { memory: Buffer.from(new SharedArrayBuffer(bytes)), used: 0, entries: 0, isRead: false };
}
