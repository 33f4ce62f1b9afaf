import fc from "fast-check";

export type JsonSchema = Readonly<Record<string, unknown>>;

const oddText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "",
    " ",
    "a",
    "\u0000",
    "\ud800",
    "%00",
    "../..",
    "null",
    "-0",
    "1e400",
    "é".repeat(300),
    "x".repeat(5_000),
  ),
  fc.base64String({ maxLength: 24 }),
);
const oddNumber = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e308, 1e-308),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
/** Anything that JSON can say. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: oddText },
  { weight: 2, arbitrary: oddNumber },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** Made once for each schema: making one takes longer than a request. */
const known = new WeakMap<
  JsonSchema,
  { readonly valid: fc.Arbitrary<unknown>; readonly nearly: fc.Arbitrary<unknown> }
>();

function made(schema: JsonSchema) {
  const found = known.get(schema) ?? { valid: makeValid(schema, 0), nearly: makeNearly(schema) };
  known.set(schema, found);
  return found;
}

/** Values that a schema allows, as far as it says; where it says nothing, anything. */
export function valid(schema: JsonSchema): fc.Arbitrary<unknown> {
  return made(schema).valid;
}

/** A value with one thing wrong about it: another type somewhere, a field too many, one too few. */
export function nearly(schema: JsonSchema): fc.Arbitrary<unknown> {
  return made(schema).nearly;
}

function makeValid(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const { enum: values, const: only, anyOf, oneOf, default: otherwise } = schema;
  if (Array.isArray(values)) return fc.constantFrom(...values);
  if (only !== undefined) return fc.constant(only);
  const branches = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined;
  if (branches !== undefined)
    return fc.oneof(
      ...branches.map((branch) => makeValid({ ...schema, anyOf: undefined, oneOf: undefined, ...branch }, depth)),
    );
  const types = [schema["type"]].flat().filter((type) => type !== undefined) as string[];
  if (types.length === 0) return depth > 4 ? fc.constant(null) : anyJson;
  const ofTypes = fc.oneof(...types.map((type) => ofType(type, schema, depth)));
  return otherwise === undefined ? ofTypes : fc.oneof({ weight: 3, arbitrary: ofTypes }, fc.constant(otherwise));
}

function ofType(type: string, schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return numberOf(type, schema);
    case "string":
      return textOf(schema);
    case "array":
      return arrayOf(schema, depth);
    default:
      return objectOf(schema, depth);
  }
}

function numberOf(type: string, schema: JsonSchema): fc.Arbitrary<number> {
  const min = (schema["minimum"] as number | undefined) ?? -1_000;
  const max = Math.max(min, (schema["maximum"] as number | undefined) ?? 2 ** 53 - 1);
  const near = fc.integer({ min, max: Math.min(max, min + 20) });
  const whole = fc.oneof(
    { weight: 6, arbitrary: near },
    fc.constantFrom(min, max),
    fc.maxSafeInteger().map((n) => Math.min(max, Math.max(min, n))),
  );
  return type === "integer" ? whole : fc.oneof(whole, fc.double({ min, max, noNaN: true }));
}

function textOf(schema: JsonSchema): fc.Arbitrary<string> {
  const { pattern } = schema;
  if (typeof pattern === "string")
    return fc.stringMatching(new RegExp(pattern, "u"), { size: "small" }).map((text) => text.slice(0, 128));
  if (String(schema["description"] ?? "").startsWith("Base64")) return fc.base64String({ maxLength: 40 });
  return fc.oneof(fc.string({ maxLength: 12 }), oddText);
}

function arrayOf(schema: JsonSchema, depth: number): fc.Arbitrary<unknown[]> {
  const minLength = (schema["minItems"] as number | undefined) ?? 0;
  const items = (schema["items"] as JsonSchema | undefined) ?? {};
  return fc.array(depth > 5 ? fc.constant(null) : makeValid(items, depth + 1), { minLength, maxLength: minLength + 3 });
}

function objectOf(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema["required"] ?? []) as readonly string[];
  const names = Object.keys(properties);
  if (names.length === 0)
    return depth > 4 ? fc.constant({}) : fc.dictionary(fc.string({ maxLength: 6 }), anyJson, { maxKeys: 3 });
  if (schema["maxProperties"] === 1) {
    return fc.oneof(
      ...names.map((name) => makeValid(properties[name]!, depth + 1).map((value) => ({ [name]: value }))),
    );
  }
  const fields = Object.fromEntries(names.map((name) => [name, makeValid(properties[name]!, depth + 1)]));
  return fc.record(fields, { requiredKeys: names.filter((name) => required.includes(name)), noNullPrototype: true });
}

function makeNearly(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.tuple(makeValid(schema, 0), fc.nat(), fc.nat(3), anyJson).map(([value, where, how, other]) => {
    const copy = structuredClone(value);
    const places = [...placesIn(copy)];
    if (places.length === 0) return other;
    const [holder, key] = places[where % places.length]!;
    if (how === 0) delete (holder as Record<string, unknown>)[key];
    else if (how === 1 && !Array.isArray(holder)) (holder as Record<string, unknown>)[`${key}_x`] = other;
    else (holder as Record<string, unknown>)[key] = other;
    return copy;
  });
}

function* placesIn(value: unknown): Iterable<readonly [object, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield [value, key];
    yield* placesIn(inner);
  }
}
