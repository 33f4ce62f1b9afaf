// A program of its own that reads a dataset: `node lance-reader.ts <path of x.lance> <version>` prints its rows as JSON,
// ordered by id. It uses lancedb directly and nothing of ours.
import { basename, dirname } from "node:path";
import { connect } from "@lancedb/lancedb";

type Plain = string | number | boolean | null | Plain[] | { [name: string]: Plain };

function plain(value: unknown): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  const iterable = value as Iterable<unknown>;
  if (typeof value === "object" && Symbol.iterator in value) return Array.from(iterable, plain);
  throw new Error(`unexpected value ${String(value)}`);
}

export async function readRows(
  path: string,
  version?: number,
  storage?: Readonly<Record<string, string>>,
): Promise<Record<string, Plain>[]> {
  const connection = await connect(dirname(path), storage && { storageOptions: { ...storage } });
  const table = await connection.openTable(basename(path, ".lance"));
  if (version !== undefined) await table.checkout(version);
  const names = (await table.schema()).fields.map((field) => field.name);
  const rows = (await table.query().toArray()) as Record<string, unknown>[];
  table.close();
  connection.close();
  return rows
    .map((row) => Object.fromEntries(names.map((name) => [name, plain(row[name])])))
    .sort((a, b) => Number(a["_id"]) - Number(b["_id"]));
}

if (import.meta.main) {
  const [path = "", version] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(await readRows(path, Number(version))));
}
