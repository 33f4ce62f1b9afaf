const pieceBytes = 1024 * 1024;
/** A larger entry gets memory of its own. */
const cutBytesMax = 256 * 1024;

/**
 * Memory for the entries of the log, cut one after another from larger pieces, which go as a whole. It is shared, so that another thread
 * can apply them.
 */
export class EntryMemory {
  #piece: Buffer = Buffer.alloc(0);

  cut(bytes: number): Buffer {
    if (bytes > cutBytesMax) return Buffer.from(new SharedArrayBuffer(bytes));
    if (bytes > this.#piece.length) this.#piece = Buffer.from(new SharedArrayBuffer(pieceBytes));
    const cut = this.#piece.subarray(0, bytes);
    this.#piece = this.#piece.subarray(bytes);
    return cut;
  }
}
