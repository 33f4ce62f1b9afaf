import { Counter, Gauge, type Registry } from "prom-client";

/** Rows of one metric are shown up to this many, so that a scrape stays small. */
export const rowsMax = 1_000;

type Row = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A gauge that is read at each scrape. */
export function readGauge(registers: Registry[], name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(read());
    },
  });
}

/** The same with labels. */
export function readGauges(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Iterable<Row>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [labels, value] of first(read())) this.set(labels, value);
    },
  });
}

/** A count that the engine keeps, read at each scrape. */
export function readCounter(registers: Registry[], name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers,
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** The same with labels. */
export function readCounters(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Iterable<Row>,
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [labels, value] of first(read())) this.inc(labels, value);
    },
  });
}

function* first(rows: Iterable<Row>): Iterable<Row> {
  let left = rowsMax;
  for (const row of rows) {
    if (left-- === 0) return;
    yield row;
  }
}
