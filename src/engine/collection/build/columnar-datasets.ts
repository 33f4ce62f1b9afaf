import type { Clock } from "../../../port/clock.ts";
import type { Columnar, ColumnarChange, ColumnarDataset } from "../../../port/columnar.ts";
import { LruMap } from "../../../port/lru-map.ts";
import type { ObjectStore } from "../../../port/object-store.ts";
import type { Schema } from "../../schema/schema.ts";
import { columnarSchema } from "./columnar-rows.ts";

/** Datasets kept open; the one unused for longest is closed for another. */
const openMax = 32;
/** Versions stay readable this long after a newer one was made: a plan is good for an hour. */
const keepMs = 65 * 60_000;

/** The columnar datasets of collections, opened when first written. */
export class ColumnarDatasets {
  readonly #columnar: Columnar;
  readonly #objects: ObjectStore;
  readonly #clock: Clock;
  readonly #open = new LruMap<string, { dataset: ColumnarDataset; schema: Schema }>(openMax);

  constructor(columnar: Columnar, objects: ObjectStore, clock: Clock) {
    this.#columnar = columnar;
    this.#objects = objects;
    this.#clock = clock;
  }

  /**
   * Commits a change; undefined where datasets have no place. `keeps`: frees no version, in use or not.
   */
  async apply(
    folder: string,
    schema: Schema,
    change: ColumnarChange,
    keeps = false,
  ): Promise<{ path: string; version: number } | undefined> {
    const path = `${folder}/dataset.lance`;
    const place = this.#objects.datasetPlace(path);
    if (place === undefined) return undefined;
    try {
      const dataset = await this.#dataset(place, schema);
      const version = await dataset.apply(change);
      if (keeps) return { path, version };
      const maintained = await dataset.maintain({ keepFromMs: this.#clock.nowMs() - keepMs, pinned: [version] });
      return { path, version: maintained.done ? maintained.version : version };
    } catch (error) {
      // What is wrong with a handle may be right with a new one.
      await this.#close(place);
      throw error;
    }
  }

  async #dataset(place: string, schema: Schema): Promise<ColumnarDataset> {
    const known = this.#open.get(place);
    if (known !== undefined) {
      if (known.schema.fields.length !== schema.fields.length) await known.dataset.addColumns(columnarSchema(schema));
      this.#open.set(place, { dataset: known.dataset, schema });
      return known.dataset;
    }
    if (this.#open.size >= openMax) await this.#open.shift()?.dataset.close();
    const dataset = await this.#columnar.open(place, columnarSchema(schema));
    this.#open.set(place, { dataset, schema });
    return dataset;
  }

  async #close(place: string): Promise<void> {
    const known = this.#open.get(place);
    this.#open.delete(place);
    await known?.dataset.close();
  }
}
