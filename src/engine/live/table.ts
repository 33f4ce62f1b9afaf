import { invalid } from "../errors.ts";
import { afterText, encodeOrdered, fieldAt } from "./order.ts";
import type { IndexDefinition } from "./schema.ts";
import { liveLimits } from "./settings.ts";
import type { Fields } from "./validator.ts";
import type { LiveObject, LiveValue } from "./value.ts";

export interface LiveIndex extends IndexDefinition {
  readonly number: number;
  /** The tick that made it: it knows nothing of the time before. */
  readonly since: number;
}

export interface LiveTable {
  readonly name: string;
  readonly number: number;
  readonly fields: Fields | undefined;
  readonly indexes: readonly LiveIndex[];
  /** The stream that gets its changes. */
  readonly events?: string | undefined;
}

/** The number of the order of creation in keys; indexes are numbered from 1. */
export const creationOrder = 0;

/** Where a document stands in an index: its key there, and where each field's part of it ends. */
export interface IndexPlace {
  /** The table and the index. */
  readonly space: string;
  readonly key: string;
  readonly ends: readonly number[];
}

export function spaceOf(table: number, index: number): string {
  return `${table}/${index}`;
}

export function placeIn(table: LiveTable, index: LiveIndex, document: LiveObject, documentKey: string): IndexPlace {
  let key = "";
  const ends: number[] = [];
  for (const field of index.fields) {
    key += encodeOrdered(fieldAt(document, field));
    ends.push(key.length);
  }
  if (key.length > liveLimits.indexKeyBytesMax) {
    const most = liveLimits.indexKeyBytesMax;
    throw invalid(index.fields.join(), `takes more than ${most} bytes in the index ${index.name} of ${table.name}`);
  }
  return { space: spaceOf(table.number, index.number), key: key + documentKey, ends };
}

/** In every order that the table has, creation first. */
export function placesOf(table: LiveTable, document: LiveObject, documentKey: string): IndexPlace[] {
  const first = { space: spaceOf(table.number, creationOrder), key: documentKey, ends: [] };
  return [first, ...table.indexes.map((index) => placeIn(table, index, document, documentKey))];
}

/** A part of an index: fields that equal values, and bounds of the field after them. */
export interface IndexRange {
  readonly equal: readonly LiveValue[];
  readonly lower?: { readonly value: LiveValue; readonly inclusive: boolean };
  readonly upper?: { readonly value: LiveValue; readonly inclusive: boolean };
}

export interface KeyRange {
  readonly space: string;
  /** What all keys of it start with: whole fields. */
  readonly prefix: string;
  readonly from: string;
  /** Exclusive; undefined: to the end. */
  readonly to: string | undefined;
}

export function keyRange(space: string, range: IndexRange, encode = encodeOrdered): KeyRange {
  const prefix = range.equal.map(encode).join("");
  const { lower, upper } = range;
  const low = lower === undefined ? prefix : prefix + encode(lower.value);
  const high = upper === undefined ? prefix : prefix + encode(upper.value);
  return {
    space,
    prefix,
    from: lower !== undefined && !lower.inclusive ? (afterText(low) ?? low) : low,
    to: upper !== undefined && !upper.inclusive ? high : afterText(high),
  };
}

export function inRange(key: string, { from, to }: Pick<KeyRange, "from" | "to">): boolean {
  return key >= from && (to === undefined || key < to);
}
