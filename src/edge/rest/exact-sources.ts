import { parseWritten, sourcesMayExceedDoubles } from "../../engine/exact-json.ts";

/** The members through which a body leads to the sources of documents. */
const ways = ["ops", "upsert", "insert", "patch"] as const;

/** As JSON.parse, but for the sources of documents, which keep numbers as they were written that a double can't carry. */
export function parseBody(text: string): unknown {
  const body: unknown = JSON.parse(text);
  if (sourcesMayExceedDoubles(text)) keepSources(body, parseWritten(text));
  return body;
}

function keepSources(given: unknown, written: unknown): void {
  if (Array.isArray(given) && Array.isArray(written)) {
    for (const [i, each] of given.entries()) keepSources(each, written[i]);
  } else if (isObject(given) && isObject(written)) {
    if (Object.hasOwn(given, "source") && isObject(given["source"])) given["source"] = written["source"];
    for (const way of ways) if (Object.hasOwn(given, way)) keepSources(given[way], written[way]);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
