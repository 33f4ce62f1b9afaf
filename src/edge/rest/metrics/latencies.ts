import type { Metric, Registry } from "prom-client";

/** The observations of one set of labels. */
export interface LatencyRow {
  observe(seconds: number): void;
}

interface Row extends LatencyRow {
  readonly labels: Readonly<Record<string, string>>;
  /** Those up to each bound, and those above the last one. */
  readonly counts: Float64Array;
  sum: number;
}

/**
 * A histogram for what happens on every request. The library's own takes 2 µs for an observation, which is as much as
 * parsing the request; here it is a search in a short array. Shown like any other histogram.
 */
export class Latencies {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: Float64Array;
  readonly #rows: Row[] = [];

  constructor(name: string, help: string, bounds: readonly number[], registry: Registry) {
    this.name = name;
    this.#help = help;
    this.#bounds = Float64Array.from(bounds);
    // The library asks a registered metric for no more than this class has.
    registry.registerMetric(this as unknown as Metric);
  }

  row(labels: Readonly<Record<string, string>>): LatencyRow {
    const bounds = this.#bounds;
    const counts = new Float64Array(bounds.length + 1);
    const row: Row = {
      labels,
      counts,
      sum: 0,
      observe: (seconds) => {
        let i = 0;
        while (i < bounds.length && seconds > bounds[i]!) i++;
        counts[i]!++;
        row.sum += seconds;
      },
    };
    this.#rows.push(row);
    return row;
  }

  async get() {
    const { name } = this;
    const values: { metricName: string; labels: Record<string, string | number>; value: number }[] = [];
    for (const { labels, counts, sum } of this.#rows) {
      let count = 0;
      for (const [i, each] of counts.entries()) {
        count += each;
        const le = this.#bounds[i] ?? "+Inf";
        values.push({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: count });
      }
      values.push({ metricName: `${name}_sum`, labels: { ...labels }, value: sum });
      values.push({ metricName: `${name}_count`, labels: { ...labels }, value: count });
    }
    return { name, help: this.#help, type: "histogram", values, aggregator: "sum" };
  }

  reset(): void {
    for (const row of this.#rows) {
      row.counts.fill(0);
      row.sum = 0;
    }
  }
}
