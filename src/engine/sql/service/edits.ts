export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A query with some of its text replaced, which knows where in the original each place comes from. */
export class EditedQuery {
  readonly text: string;
  readonly #edits: readonly Edit[];

  constructor(original: string, edits: readonly Edit[]) {
    const sorted = [...edits].sort((a, b) => a.start - b.start);
    let text = "";
    let at = 0;
    for (const edit of sorted) {
      if (edit.start < at) throw new Error("edits of a query overlap");
      text += original.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    this.text = text + original.slice(at);
    this.#edits = sorted;
  }

  /** The place in the original of a place in the text; what stands for a part of it comes from where that began. */
  originalOf(position: number): number {
    let shift = 0;
    for (const { start, end, text } of this.#edits) {
      const from = start + shift;
      if (position < from) break;
      if (position < from + text.length) return start;
      shift += text.length - (end - start);
    }
    return position - shift;
  }
}

/** DuckDB tells places in bytes of UTF-8; here they are characters. */
export function characterAt(query: string, byte: number): number {
  // Below the first character that is not ASCII both are the same.
  let bytes = 0;
  let at = 0;
  while (at < query.length && bytes < byte) {
    const code = query.codePointAt(at)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code < 0x10000 ? 1 : 2;
  }
  return at;
}

/** A name as the text of a query has it. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
