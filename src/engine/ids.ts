import { invalid } from "./errors.ts";

/** Keeps values of the same shape but different meaning apart at compile time. */
declare const brand: unique symbol;
export type Brand<T, B extends string> = T & { readonly [brand]: B };

export type NamespaceId = Brand<number, "NamespaceId">;
export type StreamId = Brand<number, "StreamId">;
export type LinkId = Brand<number, "LinkId">;
export type CollectionId = Brand<number, "CollectionId">;
export type Offset = Brand<number, "Offset">;
export type Name = Brand<string, "Name">;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
export const nameRule = "a name starts with a letter or digit and has 1 to 128 of A-Z a-z 0-9 . _ -";

export function parseName(field: string, value: string): Name {
  if (!namePattern.test(value)) throw invalid(field, nameRule);
  return value as Name;
}
