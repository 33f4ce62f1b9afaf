import { type EngineError, invalid } from "./errors.ts";

/** Clients choose these names, so that a message tells of so many of them, and so much of each. */
const toldFieldsMax = 8;
const toldNameLengthMax = 256;

/** Refuses an object's members that are not among the known ones, naming them all. */
export function refuseUnknown(
  path: string,
  input: object,
  known: readonly string[],
  more?: string | (() => string),
): void {
  const unknown = Object.keys(input).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw unknownFields(path, unknown, typeof more === "function" ? more() : more);
}

/** `more` is what else there is to say, for example which fields are known. */
export function unknownFields(
  path: string,
  names: readonly string[],
  more?: string,
  kind = "unknown field",
): EngineError {
  const [first, ...others] = names
    .slice(0, toldFieldsMax)
    .map((name) => joined(path, name.slice(0, toldNameLengthMax)));
  const also = others.length === 0 ? "" : `, as ${others.length === 1 ? "is" : "are"} ${others.join(", ")}`;
  return invalid(first!, `${kind}${also}${more === undefined ? "" : `; ${more}`}`);
}

function joined(path: string, name: string): string {
  const shown = name === "" ? '""' : name;
  return path === "" ? shown : `${path}.${shown}`;
}
