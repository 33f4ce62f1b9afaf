/** One found document: where it is, who it is and how well it matches. */
export interface Hit {
  readonly id: number;
  readonly score: number;
  /** Index of the reader in the list that was searched. */
  readonly reader: number;
  readonly doc: number;
}

/** The best k by score, ties by the lower id: a heap over parallel arrays with the worst at its root. */
export class TopK {
  readonly k: number;
  /** Documents that score less are not kept, however few there are. */
  floor: number;
  size = 0;
  /** Documents that were kept for a while at least. */
  admitted = 0;
  readonly #scores: Float64Array;
  readonly #ids: Float64Array;
  readonly #readers: Uint32Array;
  readonly #docs: Uint32Array;
  /** What a document has to reach: the floor, and the score and id of the worst kept, once k are kept. */
  threshold: number;
  thresholdId = Number.POSITIVE_INFINITY;

  constructor(k: number, floor = Number.NEGATIVE_INFINITY) {
    this.k = k;
    this.floor = floor;
    this.threshold = floor;
    this.#scores = new Float64Array(k);
    this.#ids = new Float64Array(k);
    this.#readers = new Uint32Array(k);
    this.#docs = new Uint32Array(k);
  }

  /** Begins anew. */
  reset(floor: number): void {
    this.floor = floor;
    this.size = 0;
    this.admitted = 0;
    this.threshold = floor;
    this.thresholdId = Number.POSITIVE_INFINITY;
  }

  /** Whether a document with this score and id would be kept. */
  admits(score: number, id: number): boolean {
    return score > this.threshold || (score === this.threshold && id < this.thresholdId);
  }

  offer(score: number, id: number, reader: number, doc: number): void {
    if (this.size < this.k) {
      if (score < this.floor) return;
      this.admitted++;
      this.#siftUp(this.size++, score, id, reader, doc);
      if (this.size === this.k) this.#refresh();
      return;
    }
    if (!this.admits(score, id)) return;
    this.admitted++;
    this.#siftDown(score, id, reader, doc);
    this.#refresh();
  }

  #refresh(): void {
    this.threshold = this.#scores[0]!;
    this.thresholdId = this.#ids[0]!;
  }

  #place(at: number, score: number, id: number, reader: number, doc: number): void {
    this.#scores[at] = score;
    this.#ids[at] = id;
    this.#readers[at] = reader;
    this.#docs[at] = doc;
  }

  #move(from: number, to: number): void {
    this.#scores[to] = this.#scores[from]!;
    this.#ids[to] = this.#ids[from]!;
    this.#readers[to] = this.#readers[from]!;
    this.#docs[to] = this.#docs[from]!;
  }

  #siftUp(start: number, score: number, id: number, reader: number, doc: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const parentScore = this.#scores[parent]!;
      if (parentScore < score || (parentScore === score && this.#ids[parent]! > id)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#place(at, score, id, reader, doc);
  }

  #siftDown(score: number, id: number, reader: number, doc: number): void {
    const scores = this.#scores;
    const ids = this.#ids;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.size) break;
      const right = child + 1;
      if (right < this.size) {
        const a = scores[child]!;
        const b = scores[right]!;
        if (b < a || (b === a && ids[right]! > ids[child]!)) child = right;
      }
      const childScore = scores[child]!;
      if (childScore > score || (childScore === score && ids[child]! < id)) break;
      this.#move(child, at);
      at = child;
    }
    this.#place(at, score, id, reader, doc);
  }

  /** Offers the documents of another one. */
  offerAll(other: TopK): void {
    for (let i = 0; i < other.size; i++) {
      this.offer(other.#scores[i]!, other.#ids[i]!, other.#readers[i]!, other.#docs[i]!);
    }
  }

  /** Best first. */
  hits(): Hit[] {
    const hits: Hit[] = [];
    for (let i = 0; i < this.size; i++) {
      hits.push({ id: this.#ids[i]!, score: this.#scores[i]!, reader: this.#readers[i]!, doc: this.#docs[i]! });
    }
    return hits.sort(compareHits);
  }
}

/** Best score first, ties by id. */
export function compareHits(a: { score: number; id: number }, b: { score: number; id: number }): number {
  return b.score - a.score || a.id - b.id;
}
