import { invalid } from "../errors.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { parseId } from "./document-id.ts";
import { liveLimits } from "./settings.ts";
import { bytesOf, canonicalJson, checkValue, int64Of, isObject, type LiveObject, type LiveValue } from "./value.ts";

const plainTypes = ["string", "number", "boolean", "int64", "bytes", "null", "any"] as const;
type PlainType = (typeof plainTypes)[number];

export type Validator = (
  | { readonly type: PlainType }
  | { readonly type: "id"; readonly table: string }
  | { readonly type: "array"; readonly items: Validator }
  | { readonly type: "object"; readonly fields: Fields }
  | { readonly type: "union"; readonly of: readonly Validator[] }
  | { readonly type: "literal"; readonly value: LiveValue }
) & { readonly optional?: true };

export type Fields = Readonly<Record<string, Validator>>;

/** The number of a table, of which an id must be. */
export type TableNumber = (name: string) => number | undefined;

const members: Readonly<Record<string, readonly string[]>> = {
  id: ["table"],
  array: ["items"],
  object: ["fields"],
  union: ["of"],
  literal: ["value"],
};

export function parseValidator(path: string, input: unknown, depth = 0): Validator {
  if (depth > liveLimits.valueDepthMax) throw invalid(path, `nests deeper than ${liveLimits.valueDepthMax}`);
  if (!isObject(input)) throw invalid(path, 'must be a validator such as {"type": "string"}');
  const { type, optional } = input;
  if (typeof type !== "string") throw invalid(`${path}.type`, "is required");
  const own = members[type] ?? ((plainTypes as readonly string[]).includes(type) ? [] : undefined);
  if (own === undefined) {
    const known = [...plainTypes, ...Object.keys(members)].join(", ");
    throw invalid(`${path}.type`, `${JSON.stringify(type)} is no type; the types are ${known}`);
  }
  refuseUnknown(path, input, ["type", "optional", ...own]);
  if (optional !== undefined && typeof optional !== "boolean") throw invalid(`${path}.optional`, "must be a boolean");
  const flag = optional === true ? ({ optional: true } as const) : {};
  switch (type) {
    case "id":
      if (typeof input["table"] !== "string") throw invalid(`${path}.table`, "must name a table");
      return { type, table: input["table"], ...flag };
    case "array":
      return { type, items: parseValidator(`${path}.items`, input["items"], depth + 1), ...flag };
    case "object":
      return { type, fields: parseFields(`${path}.fields`, input["fields"], depth + 1), ...flag };
    case "union": {
      const of = input["of"];
      if (!Array.isArray(of) || of.length === 0) throw invalid(`${path}.of`, "must be a list of validators");
      return { type, of: of.map((each, i) => parseValidator(`${path}.of[${i}]`, each, depth + 1)), ...flag };
    }
    case "literal":
      checkValue(`${path}.value`, input["value"]);
      return { type, value: input["value"], ...flag };
    default:
      return { type: type as PlainType, ...flag };
  }
}

export function parseFields(path: string, input: unknown, depth = 0): Fields {
  if (!isObject(input)) throw invalid(path, "must be an object of validators by field");
  const names = Object.keys(input);
  if (names.length > liveLimits.tableFieldsMax)
    throw invalid(path, `has more than ${liveLimits.tableFieldsMax} fields`);
  for (const name of names) checkFieldName(`${path}.${name}`, name);
  return Object.fromEntries(names.map((name) => [name, parseValidator(`${path}.${name}`, input[name], depth)]));
}

export function checkFieldName(path: string, name: string): void {
  if (name === "" || name.startsWith("$")) throw invalid(path, "a field's name must not be empty or start with $");
}

/** Throws `invalid_argument` naming what does not fit. The value is one that can be stored. */
export function validate(path: string, validator: Validator, value: LiveValue, tableNumber: TableNumber): void {
  const problem = misfit(path, validator, value, tableNumber);
  if (problem !== undefined) throw invalid(problem.path, problem.message);
}

export function validateFields(path: string, fields: Fields, value: LiveObject, tableNumber: TableNumber): void {
  const problem = fieldsMisfit(path, fields, value, tableNumber);
  if (problem !== undefined) throw invalid(problem.path, problem.message);
}

export interface Misfit {
  readonly path: string;
  readonly message: string;
}

function misfit(path: string, validator: Validator, value: LiveValue, tableNumber: TableNumber): Misfit | undefined {
  const wrong = (what: string): Misfit => ({ path, message: `must be ${what}` });
  switch (validator.type) {
    case "any":
      return undefined;
    case "string":
    case "number":
    case "boolean":
      return typeof value === validator.type ? undefined : wrong(`a ${validator.type}`);
    case "null":
      return value === null ? undefined : wrong("null");
    case "int64":
      return int64Of(value) === undefined ? wrong('an int64, {"$int64": "…"}') : undefined;
    case "bytes":
      return bytesOf(value) === undefined ? wrong('bytes, {"$bytes": "…"} in base64') : undefined;
    case "id": {
      const id = parseId(value);
      const ofTable = id !== undefined && id.table === tableNumber(validator.table);
      return ofTable ? undefined : wrong(`an id of the table ${JSON.stringify(validator.table)}`);
    }
    case "literal":
      return canonicalJson(value) === canonicalJson(validator.value)
        ? undefined
        : wrong(JSON.stringify(validator.value).slice(0, 100));
    case "array": {
      if (!Array.isArray(value)) return wrong("an array");
      for (const [i, item] of (value as readonly LiveValue[]).entries()) {
        const problem = misfit(`${path}[${i}]`, validator.items, item, tableNumber);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    case "object":
      if (!isObject(value) || int64Of(value) !== undefined || bytesOf(value) !== undefined) return wrong("an object");
      return fieldsMisfit(path, validator.fields, value, tableNumber);
    case "union":
      if (validator.of.some((each) => misfit(path, each, value, tableNumber) === undefined)) return undefined;
      return wrong("one of the union's types");
  }
}

export function fieldsMisfit(
  path: string,
  fields: Fields,
  value: LiveObject,
  tableNumber: TableNumber,
): Misfit | undefined {
  const prefix = path === "" ? "" : `${path}.`;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name)) return { path: `${prefix}${name}`, message: "is unknown" };
  }
  for (const [name, validator] of Object.entries(fields)) {
    if (!Object.hasOwn(value, name)) {
      if (validator.optional !== true) return { path: `${prefix}${name}`, message: "is required" };
      continue;
    }
    const problem = misfit(`${prefix}${name}`, validator, value[name]!, tableNumber);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
