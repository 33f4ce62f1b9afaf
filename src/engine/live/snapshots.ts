import type { Snapshot, Store } from "../../port/store.ts";
import { makeKey, tables } from "../keys.ts";
import { openValue, sealValue } from "../stored-value.ts";

/** A tick, and the commit time of it. */
export interface Moment {
  readonly tick: number;
  readonly micros: number;
}

export interface HeldSnapshot extends Moment, Disposable {
  readonly reader: Snapshot;
}

interface Shared extends Moment {
  readonly reader: Snapshot;
  holders: number;
}

export function encodeMoment({ tick, micros }: Moment): Buffer {
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeDoubleBE(tick);
  bytes.writeDoubleBE(micros, 8);
  return sealValue(bytes);
}

/** Undefined in a namespace that has never had a table. */
export function readMoment(store: Pick<Store, "get">, namespace: number): Moment | undefined {
  const stored = store.get(makeKey(tables.liveTick, namespace));
  if (stored === undefined) return undefined;
  const bytes = openValue(stored);
  return { tick: bytes.readDoubleBE(0), micros: bytes.readDoubleBE(8) };
}

/** Snapshots of the store, one for all who ask between two commits. */
export class Snapshots {
  readonly #store: Store;
  readonly #namespace: number;
  #newest: Shared | undefined;

  constructor(store: Store, namespace: number) {
    this.#store = store;
    this.#namespace = namespace;
  }

  take(nowMicros: number): HeldSnapshot {
    if (this.#newest === undefined) {
      const reader = this.#store.snapshot();
      const moment = readMoment(reader, this.#namespace) ?? { tick: 0, micros: nowMicros };
      this.#newest = { reader, ...moment, holders: 0 };
    }
    const shared = this.#newest;
    shared.holders++;
    let isHeld = true;
    return {
      reader: shared.reader,
      tick: shared.tick,
      micros: shared.micros,
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        if (--shared.holders > 0) return;
        if (this.#newest === shared) this.#newest = undefined;
        shared.reader[Symbol.dispose]();
      },
    };
  }

  /** Who asks from now on gets a new one. */
  renew(): void {
    this.#newest = undefined;
  }
}
