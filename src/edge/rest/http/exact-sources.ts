import { isWrittenNumber, memberMayExceedDoubles, parseWritten } from "../../../engine/exact-json.ts";

/** The members through which a body leads to the sources of documents. */
const ways = ["ops", "upsert", "insert", "patch"] as const;

/**
 * As JSON.parse, but for what must not be rounded to doubles: the sources of documents and the values of records keep numbers as they were
 * written, and large whole numbers among the parameters of a statement become bigints.
 */
export function parseBody(text: string): unknown {
  const body: unknown = JSON.parse(text);
  if (memberMayExceedDoubles(text, "source")) keepSources(body, parseWritten(text));
  if (memberMayExceedDoubles(text, "params")) keepParameters(body, parseWritten(text));
  if (hasJsonValues(body) && memberMayExceedDoubles(text, "value")) keepValues(body, parseWritten(text));
  return body;
}

function keepParameters(body: unknown, written: unknown): void {
  if (!isObject(body) || !isObject(written) || !Array.isArray(body["params"])) return;
  const exact = written["params"] as readonly unknown[];
  body["params"] = body["params"].map((value: unknown, i) => {
    const source = exact[i];
    return isWrittenNumber(source) && /^-?\d{1,38}$/.test(source.rawJSON) ? BigInt(source.rawJSON) : value;
  });
}

/** Records whose values are no texts came as JSON. */
function hasJsonValues(body: unknown): body is { readonly records: readonly unknown[] } {
  if (!isObject(body) || !Array.isArray(body["records"])) return false;
  return body["records"].some(
    (record) => isObject(record) && !["string", "undefined"].includes(typeof record["value"]),
  );
}

function keepValues({ records }: { readonly records: readonly unknown[] }, written: unknown): void {
  const exact = (written as { readonly records: readonly unknown[] }).records;
  for (const [i, record] of records.entries()) {
    if (isObject(record) && Object.hasOwn(record, "value")) record["value"] = (exact[i] as typeof record)["value"];
  }
}

function keepSources(input: unknown, written: unknown): void {
  if (Array.isArray(input) && Array.isArray(written)) {
    for (const [i, each] of input.entries()) keepSources(each, written[i]);
  } else if (isObject(input) && isObject(written)) {
    if (Object.hasOwn(input, "source") && isObject(input["source"])) input["source"] = written["source"];
    for (const way of ways) if (Object.hasOwn(input, way)) keepSources(input[way], written[way]);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
