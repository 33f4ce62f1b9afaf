import { createHash } from "node:crypto";

const shownLength = 400;

/** Everything that happens in a run, line by line: its hash tells whether two runs were the same. */
export class Trace {
  readonly #hash = createHash("sha256");
  readonly #kept: string[] = [];
  readonly #keptMax: number;
  lines = 0;

  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  add(line: string): void {
    this.#hash.update(line);
    this.#hash.update("\n");
    this.lines++;
    this.#kept.push(`${this.lines} ${line.slice(0, shownLength)}`);
    if (this.#kept.length >= this.#keptMax * 2) this.#kept.splice(0, this.#kept.length - this.#keptMax);
  }

  /** The last lines. */
  get tail(): readonly string[] {
    return this.#kept.slice(-this.#keptMax);
  }

  digest(): string {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }
}
