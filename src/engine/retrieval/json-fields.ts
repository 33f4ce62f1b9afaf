import { invalid } from "../errors.ts";
import { refuseUnknown } from "../unknown-fields.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Clients choose the names in a path, so that a long one is cut before it goes into an error. */
const shownKeyLengthMax = 64;

export function join(path: string, key: string): string {
  const shown = key.length > shownKeyLengthMax ? `${key.slice(0, shownKeyLengthMax)}…` : key;
  return path === "" ? shown : `${path}.${shown}`;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One object of a request: its fields by name, each error with the path of its field. `null` counts as absent. */
export class JsonFields {
  readonly path: string;
  readonly #object: Json;

  constructor(path: string, value: unknown, known: readonly string[]) {
    if (!isObject(value)) throw invalid(path === "" ? "body" : path, "must be an object");
    refuseUnknown(path, value, known, `known are ${known.join(", ")}`);
    this.path = path;
    this.#object = value;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  get(name: string): unknown {
    return (Object.hasOwn(this.#object, name) ? this.#object[name] : undefined) ?? undefined;
  }

  required(name: string): unknown {
    const value = this.get(name);
    if (value === undefined) throw invalid(this.at(name), "is required");
    return value;
  }

  string(name: string): string {
    const value = this.required(name);
    if (typeof value !== "string") throw invalid(this.at(name), "must be a string");
    return value;
  }

  boolean(name: string): boolean {
    const value = this.get(name) ?? false;
    if (typeof value !== "boolean") throw invalid(this.at(name), "must be true or false");
    return value;
  }

  integer(name: string, min: number, max: number, absent: number): number {
    const value = this.get(name) ?? absent;
    if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
      throw invalid(this.at(name), `must be an integer from ${min} to ${max}`);
    }
    return value;
  }

  number(name: string, min: number, max: number): number | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(this.at(name), "must be a finite number");
    if (value < min || value > max) throw invalid(this.at(name), `must be from ${min} to ${max}`);
    return value;
  }

  oneOf<const T extends string>(name: string, choices: readonly T[], absent: T): T {
    const value = this.get(name) ?? absent;
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw invalid(this.at(name), `must be one of ${choices.join(", ")}`);
    return chosen;
  }

  /** An absent array is undefined, which is not always the same as an empty one. */
  array(name: string, max: number): readonly unknown[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw invalid(this.at(name), "must be an array");
    if (value.length > max) throw invalid(this.at(name), `has more than ${max} entries`);
    return value;
  }

  strings(name: string, max: number): readonly string[] | undefined {
    return this.array(name, max)?.map((entry, i) => {
      if (typeof entry !== "string") throw invalid(`${this.at(name)}[${i}]`, "must be a string");
      return entry;
    });
  }
}
