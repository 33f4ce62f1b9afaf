import type { StoredDocumentBytes } from "../../../engine/collection/documents.ts";
import { documentText } from "./json.ts";

/** What is kept, and the longest answer that is. */
export const documentTextLimits = { bytesMax: 8 * 1024 * 1024, textBytesMax: 64 * 1024, askedMax: 16_384 } as const;

interface Kept {
  readonly stored: Uint8Array;
  readonly text: Buffer;
}

/**
 * Documents as the text of their answers: printing a vector's numbers is most of what a read of one document costs.
 * Taken in when asked for a second time, and good as long as the store holds the very bytes that it was made from.
 */
export class DocumentTexts {
  /** Oldest use first. */
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Set<string>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  of(id: number, found: StoredDocumentBytes): Buffer {
    const key = `${found.collection}/${id}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      if (Buffer.compare(kept.stored, found.bytes) === 0) {
        this.#kept.set(key, kept);
        return kept.text;
      }
      this.#bytes -= sizeOf(kept);
    }
    const text = Buffer.from(documentText(found.decode()));
    if (kept !== undefined || this.#isAskedAgain(key)) this.#keep(key, { stored: found.bytes, text });
    return text;
  }

  #isAskedAgain(key: string): boolean {
    if (this.#asked.has(key)) return true;
    if (this.#asked.size >= documentTextLimits.askedMax) this.#asked.clear();
    this.#asked.add(key);
    return false;
  }

  #keep(key: string, made: Kept): void {
    if (made.text.length > documentTextLimits.textBytesMax) return;
    this.#kept.set(key, made);
    this.#bytes += sizeOf(made);
    for (const [oldest, each] of this.#kept) {
      if (this.#bytes <= documentTextLimits.bytesMax) return;
      this.#kept.delete(oldest);
      this.#bytes -= sizeOf(each);
    }
  }
}

function sizeOf({ stored, text }: Kept): number {
  return stored.length + text.length;
}
