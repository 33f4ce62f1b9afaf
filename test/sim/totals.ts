import { faultKinds } from "./faults.ts";
import type { RunReport } from "./simulation.ts";

/** What many runs did, added up. */
export class Totals {
  #seeds = 0;
  /** Of seeds that follow on each other, the first and the last. */
  readonly #runs: { readonly first: number; last: number }[] = [];
  #steps = 0;
  #ticks = 0;
  #simulatedMs = 0;
  readonly #faults = new Map<string, number>();
  readonly #answers = new Map<string, number>();

  add({ seed, steps, ticks, simulatedMs, faults, answers }: RunReport): void {
    this.#seeds++;
    const run = this.#runs.at(-1);
    if (run !== undefined && run.last + 1 === seed) run.last = seed;
    else this.#runs.push({ first: seed, last: seed });
    this.#steps += steps;
    this.#ticks += ticks;
    this.#simulatedMs += simulatedMs;
    for (const kind of faultKinds) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + faults[kind]);
    for (const [answer, count] of answers) this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + count);
  }

  figures(): Readonly<Record<string, number | string>> {
    return {
      "seeds, each run twice": this.#seeds,
      "the first and the last of them": this.#runs.map(({ first, last }) => `${first} to ${last}`).join(", "),
      "steps of clients": this.#steps,
      "turns of the event loop": this.#ticks,
      "simulated minutes": Math.round(this.#simulatedMs / 60_000),
      ...Object.fromEntries([...this.#faults].map(([kind, count]) => [`fault: ${kind}`, count])),
      "faults, all": [...this.#faults.values()].reduce((sum, count) => sum + count, 0),
      "seeds that failed, or gave two traces": 0,
    };
  }

  text(): string {
    const faultCount = [...this.#faults.values()].reduce((sum, count) => sum + count, 0);
    const minutes = Math.round(this.#simulatedMs / 60_000);
    return [
      `${this.#seeds} seeds, each run twice; ${this.#steps} steps, ${this.#ticks} turns, ${minutes} simulated minutes`,
      `${faultCount} faults: ${list(this.#faults)}`,
      `answers: ${list(new Map([...this.#answers].sort(([a], [b]) => (a < b ? -1 : 1))))}`,
      "",
    ].join("\n");
  }
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([what, count]) => `${what} ${count}`).join(", ");
}
