import { formatDuration } from "./output.ts";

const redrawMs = 200;
/** The rate is that of about the last this long. */
const rateMs = 10_000;

/** One line on a terminal that tells how far long work is: count, share, rate and the time that is left. */
export class Progress {
  readonly #stderr: NodeJS.WriteStream;
  readonly #unit: string;
  readonly #startMs = performance.now();
  readonly #startCount: number;
  readonly #marks: { readonly ms: number; readonly count: number; readonly share: number | undefined }[] = [];
  #drawnMs = 0;
  #note = "";

  constructor(stderr: NodeJS.WriteStream, unit: string, startCount: number) {
    this.#stderr = stderr;
    this.#unit = unit;
    this.#startCount = startCount;
  }

  update(count: number, share: number | undefined): void {
    const ms = performance.now();
    this.#note = "";
    this.#marks.push({ ms, count, share });
    while (this.#marks.length > 2 && this.#marks[0]!.ms < ms - rateMs) this.#marks.shift();
    if (ms - this.#drawnMs >= redrawMs) this.#draw();
  }

  /** What it waits for. */
  note(text: string): void {
    this.#note = text;
    this.#draw();
  }

  /** Rows a second over the whole time. */
  rate(count: number): number {
    return (count - this.#startCount) / Math.max(0.001, (performance.now() - this.#startMs) / 1000);
  }

  end(): void {
    if (this.#stderr.isTTY && this.#drawnMs > 0) this.#stderr.write("\r\x1b[K");
  }

  #draw(): void {
    if (!this.#stderr.isTTY) return;
    this.#drawnMs = performance.now();
    const first = this.#marks[0];
    const last = this.#marks.at(-1);
    if (first === undefined || last === undefined) return;
    const rate = ((last.count - first.count) / Math.max(1, last.ms - first.ms)) * 1000;
    const parts = [`${last.count.toLocaleString("en")} ${this.#unit}`];
    if (last.share !== undefined) parts.push(`${(last.share * 100).toFixed(1)} %`);
    if (last !== first) parts.push(`${Math.round(rate).toLocaleString("en")}/s`);
    if (last.share !== undefined && first.share !== undefined && last.share > first.share) {
      const leftMs = ((1 - last.share) / (last.share - first.share)) * (last.ms - first.ms);
      parts.push(`${formatDuration(leftMs)} left`);
    }
    if (this.#note !== "") parts.push(this.#note);
    this.#stderr.write(`\r\x1b[K${parts.join(" · ").slice(0, (this.#stderr.columns || 80) - 1)}`);
  }
}
