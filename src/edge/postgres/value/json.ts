import type { SqlColumn } from "../../../engine/sql/batch.ts";
import { isNull } from "./column.ts";
import { slice, type TextReader, textReader } from "./text.ts";

/** Values that nest deeper than an array of scalars go out as JSON. */
export function jsonReader(column: SqlColumn): TextReader {
  const read = presentReader(column);
  return (row) => (isNull(column, row) ? "null" : read(row));
}

function presentReader(column: SqlColumn): TextReader {
  switch (column.layout) {
    case "null":
      return () => "null";
    case "list": {
      const { items, offsets, type } = column;
      if (type.kind === "map" && items.layout === "struct") return mapReader(offsets, items.fields);
      const item = jsonReader(items);
      return (row) => {
        const texts: string[] = [];
        for (let i = offsets[row]!; i < offsets[row + 1]!; i++) texts.push(item(i));
        return `[${texts.join(",")}]`;
      };
    }
    case "struct": {
      const { type, fields } = column;
      const names = type.kind === "struct" ? type.fields.map(({ name }) => JSON.stringify(name)) : [];
      const readers = fields.map(jsonReader);
      return (row) => `{${readers.map((read, i) => `${names[i] ?? `"${i}"`}:${read(row)}`).join(",")}}`;
    }
    default:
      return scalarReader(column);
  }
}

function mapReader(offsets: Int32Array, [keys, values]: readonly SqlColumn[]): TextReader {
  if (keys === undefined || values === undefined) return () => "{}";
  const key = textReader(keys);
  const value = jsonReader(values);
  return (row) => {
    const texts: string[] = [];
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) texts.push(`${JSON.stringify(key(i))}:${value(i)}`);
    return `{${texts.join(",")}}`;
  };
}

const plain = new Set(["int8", "int16", "int32", "uint8", "uint16", "uint32"]);

function scalarReader(column: SqlColumn): TextReader {
  const read = textReader(column);
  const { kind } = column.type;
  if (kind === "json" && column.layout === "bytes") return (row) => slice(column, row).toString("utf8");
  if (kind === "boolean") return (row) => (read(row) === "t" ? "true" : "false");
  if (plain.has(kind)) return read;
  if (["float32", "float64", "decimal", "int64", "uint64", "int128", "uint128"].includes(kind))
    return numberReader(read);
  return (row) => JSON.stringify(read(row));
}

/** Numbers that JSON has not are text in it; so are integers that a reader would round. */
function numberReader(read: TextReader): TextReader {
  return (row) => {
    const text = read(row);
    if (!/^-?\d/.test(text)) return JSON.stringify(text);
    return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? JSON.stringify(text) : text;
  };
}
