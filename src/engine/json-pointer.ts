import { invalid } from "./errors.ts";

/** A parsed JSON pointer (RFC 6901): the names on the way. */
export type JsonPath = readonly string[];

export function parsePointer(field: string, text: string): JsonPath {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) throw invalid(field, "must be a JSON pointer such as /a/b");
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** What the path leads to, or undefined. */
export function resolvePointer(document: unknown, path: JsonPath): unknown {
  let current = document;
  for (const name of path) {
    if (typeof current !== "object" || current === null) return undefined;
    if (Array.isArray(current)) {
      if (!/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
      current = current[Number(name)];
    } else {
      if (!Object.hasOwn(current, name)) return undefined;
      current = (current as Record<string, unknown>)[name];
    }
  }
  return current;
}
