/** The tokens of one text, as parallel arrays that are filled again for each text: no object per token. */
export class TokenBuffer {
  count = 0;
  readonly terms: string[] = [];
  /** Position in the text, counted in words; removed words leave a gap. */
  readonly positions: number[] = [];
  /** UTF-16 offsets into the text, end exclusive. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  clear(): void {
    this.count = 0;
  }

  push(term: string, position: number, start: number, end: number): void {
    const i = this.count++;
    this.terms[i] = term;
    this.positions[i] = position;
    this.starts[i] = start;
    this.ends[i] = end;
  }
}
