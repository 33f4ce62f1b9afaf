import { type DescField, type DescMessage, fromJson, ScalarType, toBinary } from "@bufbuild/protobuf";
import type { Dice } from "../../sim/dice.ts";

type Json = Readonly<Record<string, unknown>>;

const names: Readonly<Record<string, readonly string[]>> = {
  namespace: ["fuzz", "nowhere", "", "bad name"],
  collection: ["items", "goods", "nowhere", ""],
  from: ["collections.items", "items", "x.y", ""],
  name: ["items", "s1", "fuzz", "", "bad name"],
  field: ["name", "note", "v", "price", "nothing", ""],
  fields: ["name", "note", "_id"],
  consistency: ["strong", "eventual", "weak", ""],
  operator: ["or", "and", "xor"],
  method: ["rrf", "weighted", "sum"],
  order: ["asc", "desc", "up"],
  service: ["", "service.instance.v1.InstanceService", "nothing"],
};
const texts = ["", "red", "é", "\u0000", "a".repeat(300), "t*?", '"red thing"', "2024-01-01T00:00:00Z", "null", "../x"];
const numbers = [0, 1, -1, 2, 3, 10, 10_001, 2 ** 31 - 1, 0.5, -0.25, 1e30];
const longs = [
  "0",
  "1",
  "30",
  "-1",
  "9007199254740991",
  "9007199254740992",
  "9223372036854775807",
  "-9223372036854775808",
];

/** A message of a kind, in its JSON form: mostly what makes sense, with some of what does not. */
export function messageJson(desc: DescMessage, dice: Dice, depth = 0): Json {
  const json: Record<string, unknown> = {};
  for (const field of desc.fields) {
    if (field.oneof !== undefined && !isChosen(field, dice)) continue;
    const likely = depth === 0 && field.name in names ? 0.97 : depth > 3 ? 0.15 : 0.6;
    if (dice.chance(likely)) json[field.jsonName] = valueFor(field, dice, depth);
  }
  if (dice.chance(0.02)) json["surprise"] = 1;
  return json;
}

/** One member of a group at a time, or now and then two. */
function isChosen(field: DescField, dice: Dice): boolean {
  return dice.chance(1.2 / field.oneof!.fields.length);
}

function valueFor(field: DescField, dice: Dice, depth: number): unknown {
  switch (field.fieldKind) {
    case "list":
      return Array.from({ length: dice.below(4) }, () =>
        field.listKind === "message"
          ? inner(field.message, dice, depth)
          : scalar(field.name, field.scalar ?? ScalarType.INT32, dice),
      );
    case "map":
      return Object.fromEntries(
        Array.from({ length: dice.below(3) }, () => [
          dice.pick(["v", "name", "x", ""]),
          field.mapKind === "message"
            ? inner(field.message, dice, depth)
            : scalar(field.name, field.scalar ?? ScalarType.INT32, dice),
        ]),
      );
    case "message":
      return inner(field.message, dice, depth);
    case "enum":
      return dice.pick([0, 1, 99]);
    default:
      return scalar(field.name, field.scalar, dice);
  }
}

function inner(desc: DescMessage, dice: Dice, depth: number): unknown {
  switch (desc.typeName) {
    case "google.protobuf.Struct":
      return { name: dice.pick(texts), qty: dice.pick(numbers), deep: { a: [null, true] } };
    case "google.protobuf.Value":
      return dice.pick([null, 1, "red", true, [1], { a: 1 }, -0.5, 1e30]);
    case "google.protobuf.ListValue":
      return [1, "a", null];
    case "google.protobuf.Timestamp":
      return "2024-01-01T00:00:00Z";
    default:
      return depth > 8 ? {} : messageJson(desc, dice, depth + 1);
  }
}

function scalar(name: string, type: ScalarType, dice: Dice): unknown {
  switch (type) {
    case ScalarType.STRING:
      return dice.pick(name in names && dice.chance(0.9) ? names[name]! : texts);
    case ScalarType.BYTES:
      return dice.pick(["", "AA==", "aGVsbG8=", "not base64"]);
    case ScalarType.BOOL:
      return dice.chance(0.5);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return dice.pick(longs);
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return dice.pick([...numbers, "NaN", "Infinity"]);
    default:
      return dice.chance(0.8) ? dice.between(0, 12) : dice.pick(numbers);
  }
}

/** The message in its binary form; what its JSON form may not say becomes an empty one. */
export function messageBytes(desc: DescMessage, dice: Dice): Uint8Array {
  for (let tries = 0; tries < 5; tries++) {
    try {
      return toBinary(desc, fromJson(desc, messageJson(desc, dice) as never, { ignoreUnknownFields: true }));
    } catch {
      // Another one.
    }
  }
  return new Uint8Array();
}
