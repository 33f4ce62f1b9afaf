import { EngineError, invalid } from "../errors.ts";
import { creationPrefix, creationTimeOf, documentKeyBytes, formatId } from "./document-id.ts";
import { encodeOrdered } from "./order.ts";
import { checkOwnField, creationIndex } from "./schema.ts";
import { creationOrder, type IndexRange, inRange, type KeyRange, keyRange, type LiveTable, spaceOf } from "./table.ts";
import { type TableNumber, validateFields } from "./validator.ts";
import { checkValue, isObject, type LiveObject, type LiveValue } from "./value.ts";

/** A part of a table in an order. */
export interface ScanSpec {
  readonly table: string;
  /** The order of creation without it. */
  readonly index?: string | undefined;
  readonly equal?: readonly (readonly [field: string, value: LiveValue])[] | undefined;
  readonly lower?: Bound | undefined;
  readonly upper?: Bound | undefined;
  readonly order?: "asc" | "desc" | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface Bound {
  readonly field: string;
  readonly value: LiveValue;
  readonly inclusive: boolean;
}

/** A document that was read: `json` has its own fields. */
export interface FoundDocument {
  readonly table: number;
  readonly key: string;
  readonly json: Buffer;
}

/** A document as readers see it. */
export function documentFields({ table, key, json }: FoundDocument): LiveObject {
  return { _id: formatId({ table, key }), _creationTime: creationTimeOf(key), ...parseOwnFields(json) };
}

/** The same as JSON, spliced from the stored text: 1 µs a document, against 4 when it is parsed and encoded again. */
export function documentText({ table, key, json }: FoundDocument): string {
  const system = `{"_id":"${formatId({ table, key })}","_creationTime":${creationTimeOf(key)}`;
  const own = json.toString();
  return own === "{}" ? `${system}}` : `${system},${own.slice(1)}`;
}

export function parseOwnFields(json: Buffer): LiveObject {
  return JSON.parse(json.toString()) as LiveObject;
}

/** The fields of a document that are its own. The system's may be given with the values that they have. */
export function ownFieldsOf(
  path: string,
  input: LiveValue | undefined,
  table: LiveTable,
  key: string | undefined,
): LiveObject {
  if (!isObject(input)) throw invalid(path, "must be an object");
  const own: Record<string, LiveValue> = {};
  for (const [name, value] of Object.entries(input)) {
    const isSystem = name === "_id" || name === "_creationTime";
    if (isSystem && key !== undefined) {
      const current = name === "_id" ? formatId({ table: table.number, key }) : creationTimeOf(key);
      if (value !== current) throw invalid(`${path}.${name}`, "can't be changed");
      continue;
    }
    checkOwnField(`${path}.${name}`, name);
    checkValue(`${path}.${name}`, value);
    Object.defineProperty(own, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return own;
}

export function checkDocument(path: string, table: LiveTable, document: LiveObject, tableNumber: TableNumber): void {
  if (table.fields !== undefined) validateFields(path, table.fields, document, tableNumber);
}

/** The keys that a scan goes through. */
export function scanRange(
  table: LiveTable,
  spec: Omit<ScanSpec, "limit">,
  tick: number,
): { readonly index: number; readonly range: KeyRange } {
  const index = findIndex(table, spec.index, tick);
  const { equal = [], lower, upper } = spec;
  for (const [i, [field]] of equal.entries()) checkOrder(table, index, i, field);
  const bounded = index.fields[equal.length];
  for (const bound of [lower, upper]) {
    if (bound !== undefined && bound.field !== bounded) checkOrder(table, index, equal.length, bound.field);
  }
  const range: IndexRange = {
    equal: equal.map(([, value]) => value),
    ...(lower === undefined ? {} : { lower }),
    ...(upper === undefined ? {} : { upper }),
  };
  const encode = index.number === creationOrder ? encodeCreation : encodeOrdered;
  const whole = keyRange(spaceOf(table.number, index.number), range, encode);
  return { index: index.number, range: spec.cursor === undefined ? whole : after(whole, spec.cursor, spec.order) };
}

function findIndex(table: LiveTable, name: string | undefined, tick: number) {
  if (name === undefined || name === creationIndex) return { number: creationOrder, fields: ["_creationTime"] };
  const found = table.indexes.find((index) => index.name === name);
  if (found === undefined) throw invalid("index", `the table ${table.name} has no index ${JSON.stringify(name)}`);
  if (found.since > tick) {
    throw new EngineError("failed_precondition", `the index ${name} of ${table.name} was made after the tick ${tick}`);
  }
  return found;
}

function checkOrder(table: LiveTable, index: { readonly fields: readonly string[] }, at: number, field: string): void {
  if (index.fields[at] === field) return;
  const wanted = index.fields[at] === undefined ? "no more fields" : `${index.fields[at]} next`;
  throw invalid("index", `the index of ${table.name} has ${wanted}, not ${JSON.stringify(field)}`);
}

function encodeCreation(value: LiveValue | undefined): string {
  if (typeof value !== "number" || value < 0) throw invalid("_creationTime", "must be a time in milliseconds");
  return creationPrefix(Math.round(value * 1_000));
}

/** What is left behind the last row of a page. */
function after(range: KeyRange, cursor: string, order: ScanSpec["order"]): KeyRange {
  const key = Buffer.from(cursor, "base64url").toString("latin1");
  const isKey = key.length >= documentKeyBytes && inRange(key, range);
  if (!isKey) throw invalid("cursor", "is of another query");
  return order === "desc" ? { ...range, to: key } : { ...range, from: `${key}\0` };
}

export function formatCursor(key: string): string {
  return Buffer.from(key, "latin1").toString("base64url");
}
