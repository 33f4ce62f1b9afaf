// Applies numbered changes to a dataset until it is killed, and tells when each begins and ends.
import { LanceColumnar } from "../../src/adapter/lance/columnar.ts";
import type { ColumnarChange, ColumnarSchema } from "../../src/port/columnar.ts";

export const writerSchema: ColumnarSchema = {
  columns: [
    { name: "title", type: "string" },
    { name: "tags", type: "string" },
  ],
  vectors: [{ name: "v", dim: 4 }],
};

/** A schema before columns are added to it. */
export const earlySchema: ColumnarSchema = {
  columns: [
    { name: "Title", type: "string" },
    { name: "title", type: "string" },
    { name: "n", type: "i64" },
    { name: "x", type: "f64" },
    { name: "ok", type: "bool" },
  ],
  vectors: [{ name: "v", dim: 3 }],
};

const idCount = 300;

/** The change with this number, the same in every process. */
export function numberedChange(step: number): ColumnarChange {
  const ids = new Set(Array.from({ length: 60 }, (_, i) => (step * 37 + i * 11) % idCount));
  const all = [...ids];
  return {
    upserts: all.slice(10).map((id) => ({
      id,
      version: step,
      source: JSON.stringify({ id, step }),
      values: [[`title ${id} ${step}`], step % 3 === 0 ? ["a", `b${step}`] : ["a"]],
      vectors: [id % 5 === 0 ? undefined : Float32Array.of(id, step, 0, 1)],
    })),
    deletes: all.slice(0, 10),
  };
}

if (import.meta.main) {
  const [path = "", first = "0"] = process.argv.slice(2);
  const dataset = await new LanceColumnar().open(path, writerSchema);
  for (let step = Number(first); ; step++) {
    process.stdout.write(`begin ${step}\n`);
    const version = await dataset.apply(numberedChange(step));
    process.stdout.write(`end ${step} ${version}\n`);
    if (step % 7 === 6) await dataset.maintain({ keepFromMs: Date.now(), pinned: [version], force: true });
  }
}
