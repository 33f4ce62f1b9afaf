import { invalid } from "../errors.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { type LiveSettings, liveLimits } from "./settings.ts";
import { checkFieldName, type Fields, parseFields } from "./validator.ts";
import { isObject } from "./value.ts";

export interface IndexDefinition {
  readonly name: string;
  readonly fields: readonly string[];
}

export interface TableDefinition {
  /** Undefined: any document. */
  readonly fields: Fields | undefined;
  readonly indexes: readonly IndexDefinition[];
}

export interface SchemaDefinition {
  readonly tables: Readonly<Record<string, TableDefinition>>;
}

/** The order of creation, which every table has. */
export const creationIndex = "by_creation_time";

const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const nameRule = "a name starts with a letter and has 1 to 64 of A-Z a-z 0-9 _";

export function parseTableName(path: string, name: unknown): string {
  if (typeof name !== "string" || !namePattern.test(name)) throw invalid(path, nameRule);
  return name;
}

type Bounds = Pick<LiveSettings, "indexesMax" | "indexFieldsMax">;

export function parseSchema(path: string, input: unknown, bounds: Bounds): SchemaDefinition {
  if (!isObject(input)) throw invalid(path, "must be an object with tables");
  refuseUnknown(path, input, ["tables"]);
  const { tables = {} } = input;
  if (!isObject(tables)) throw invalid(`${path}.tables`, "must be an object of tables by name");
  const names = Object.keys(tables);
  if (names.length > liveLimits.tablesMax) throw invalid(`${path}.tables`, `has more than ${liveLimits.tablesMax}`);
  const parsed = names.map((name) => {
    const at = `${path}.tables.${name}`;
    parseTableName(at, name);
    const table = tables[name];
    if (!isObject(table)) throw invalid(at, "must be an object with fields and indexes");
    refuseUnknown(at, table, ["fields", "indexes"]);
    return [name, parseTable(`${at}.`, table["fields"], table["indexes"], bounds)] as const;
  });
  return { tables: Object.fromEntries(parsed) };
}

/** `prefix` comes before the names of both members. */
export function parseTable(prefix: string, fields: unknown, indexes: unknown, bounds: Bounds): TableDefinition {
  const parsed = fields === undefined || fields === null ? undefined : parseTableFields(`${prefix}fields`, fields);
  const list = indexes ?? [];
  if (!Array.isArray(list)) throw invalid(`${prefix}indexes`, "must be a list of {name, fields}");
  if (list.length > bounds.indexesMax) throw invalid(`${prefix}indexes`, `has more than ${bounds.indexesMax} indexes`);
  const definitions = list.map((index, i) => parseIndex(`${prefix}indexes[${i}]`, index, bounds));
  for (const [i, { name }] of definitions.entries()) {
    const isTwice = definitions.findIndex((other) => other.name === name) !== i;
    if (isTwice || name === creationIndex) throw invalid(`${prefix}indexes[${i}].name`, `${name} is taken`);
  }
  return { fields: parsed, indexes: definitions };
}

function parseTableFields(path: string, input: unknown): Fields {
  const fields = parseFields(path, input);
  for (const name of Object.keys(fields)) checkOwnField(`${path}.${name}`, name);
  return fields;
}

/** Fields that start with an underscore are the system's. */
export function checkOwnField(path: string, name: string): void {
  checkFieldName(path, name);
  if (name.startsWith("_")) throw invalid(path, "names that start with _ are reserved");
}

function parseIndex(path: string, input: unknown, { indexFieldsMax }: Bounds): IndexDefinition {
  if (!isObject(input)) throw invalid(path, "must be an object with name and fields");
  refuseUnknown(path, input, ["name", "fields"]);
  const name = parseTableName(`${path}.name`, input["name"]);
  const { fields } = input;
  if (!Array.isArray(fields) || fields.length === 0) throw invalid(`${path}.fields`, "must be a list of fields");
  if (fields.length > indexFieldsMax) throw invalid(`${path}.fields`, `has more than ${indexFieldsMax} fields`);
  for (const [i, field] of fields.entries()) {
    if (typeof field !== "string") throw invalid(`${path}.fields[${i}]`, "must be the name of a field");
    checkOwnField(`${path}.fields[${i}]`, field);
    if (fields.indexOf(field) !== i) throw invalid(`${path}.fields[${i}]`, "is given twice");
  }
  return { name, fields: fields as string[] };
}
