import assert from "node:assert/strict";
import { test } from "node:test";
import { PostgresError } from "./error.ts";
import { oids } from "./message/oid.ts";
import { decodeParameter } from "./parameter.ts";

const text = (value: string, oid: number, kind?: "int64" | "boolean") =>
  decodeParameter(Buffer.from(value), 0, oid, kind === undefined ? undefined : { kind });
const binary = (hex: string, oid: number) => decodeParameter(Buffer.from(hex, "hex"), 1, oid, undefined).value;

test("a type that the client gives comes before the one that the statement wants", () => {
  assert.deepEqual(text("5", oids.text.oid, "int64"), { value: "5", type: { kind: "text" } });
  assert.deepEqual(text("5", 0, "int64"), { value: "5", type: { kind: "int64" } });
  assert.deepEqual(text("5", oids.unknown.oid, "int64"), { value: "5", type: { kind: "int64" } });
  assert.deepEqual(text("5", 0), { value: "5" });
  assert.deepEqual(decodeParameter(null, 0, oids.int4.oid, undefined), { value: null, type: { kind: "int32" } });
});

for (const [given, oid, want] of [
  ["t", oids.bool.oid, true],
  ["off", oids.bool.oid, false],
  ["\\x00ff", oids.bytea.oid, Uint8Array.of(0, 255)],
  ["a\\\\\\001", oids.bytea.oid, Uint8Array.of(0x61, 0x5c, 1)],
  ["{1,-2,NULL}", oids.int4.array, [1n, -2n, null]],
  ["{}", oids.int4.array, []],
  ["{{1},{2}}", oids.int4.array, [[1n], [2n]]],
  ["[0:1]={1,2}", oids.int4.array, [1n, 2n]],
  ['{a,"b,c","q\\"x",""}', oids.text.array, ["a", "b,c", 'q"x', ""]],
  ["{0.5,NaN,-Infinity}", oids.float4.array, [0.5, Number.NaN, -Infinity]],
  ["[0.5, 1]", oids.float4.array, [0.5, 1]],
  ["[0.5,1]", oids.vector.oid, [0.5, 1]],
] as const) {
  test(`the text ${given} is read as its type ${oid}`, () => assert.deepEqual(text(given, oid).value, want));
}

test("a numeric has as many digits after its point as its text", () => {
  assert.deepEqual(text("-12.340", oids.numeric.oid), {
    value: "-12.340",
    type: { kind: "decimal", width: 38, scale: 3 },
  });
  assert.deepEqual(text("1e400", oids.numeric.oid).type, { kind: "float64" });
});

for (const [hex, name, want] of [
  ["01", "bool", true],
  ["ffff", "int2", -1],
  ["00000102", "int4", 258],
  ["0000000100000000", "int8", 4294967296n],
  ["3fc00000", "float4", 1.5],
  ["3ff8000000000000", "float8", 1.5],
  ["c3a9", "text", "é"],
  ["0000000000000000000000000000000f", "uuid", "00000000-0000-0000-0000-00000000000f"],
  ["00000001", "date", "2000-01-02"],
  ["80000000", "date", "-infinity"],
  ["fff49d7b", "date", "0044-03-15 (BC)"],
  ["000000000016e360", "time", "00:00:01.5"],
  ["0000000000000000", "timestamp", "2000-01-01 00:00:00"],
  ["0000000000000000", "timestamptz", "2000-01-01 00:00:00+00"],
  ["017b7d", "jsonb", "{}"],
] as const) {
  test(`the bytes ${hex} are read as ${name}`, () => assert.deepEqual(binary(hex, oids[name].oid), want));
}

test("a vector has its dimensions before its numbers", () => {
  assert.deepEqual(binary("000200003f80000040000000", oids.vector.oid), [1, 2]);
});

test("an array of the binary format may have several dimensions", () => {
  const head = "00000002" + "00000000" + "00000017" + "0000000200000001" + "0000000100000001";
  assert.deepEqual(binary(`${head}0000000400000007${"ffffffff"}`, oids.int4.array), [[7], [null]]);
});

for (const [what, run, code] of [
  ["text that is no boolean", () => text("maybe", oids.bool.oid), "22P02"],
  ["an array that does not end", () => text("{1,2", oids.int4.array), "22P02"],
  ["an array with rubbish in it", () => text("{1,x}", oids.int4.array), "22P02"],
  ["an array that goes on after its end", () => text("{1}}", oids.int4.array), "22P02"],
  ["an array as deep as a well", () => text("{".repeat(1_000), oids.int4.array), "22P02"],
  ["too many bytes", () => binary("000000010000", oids.int4.oid), "22P03"],
  ["a short vector", () => binary("000200003f800000", oids.vector.oid), "22P03"],
  ["too few bytes", () => binary("0001", oids.int4.oid), "08P01"],
  [
    "an array of more items than bytes",
    () => binary(`${"00000001".repeat(2)}000000177fffffff00000001`, oids.int4.array),
    "22P03",
  ],
  ["text that is not UTF-8", () => binary("ff", oids.text.oid), "22021"],
] as const) {
  test(`${what} is refused with ${code}`, () => {
    assert.throws(run, (error) => error instanceof PostgresError && error.code === code);
  });
}

test("an array of more items than a parameter may have is refused, before it is made", () => {
  const tooMany = { code: "54000" };
  assert.throws(() => text(`{${"1,".repeat(100_000)}1}`, oids.int4.array), tooMany);
  assert.throws(() => text(`[${"1,".repeat(100_000)}1]`, oids.float4.array), tooMany);
  const sized = (...lengths: readonly number[]) => {
    const head = [lengths.length, 0, oids.int4.oid, ...lengths.flatMap((length) => [length, 1])];
    const bytes = Buffer.alloc(4 * head.length + 400);
    head.forEach((value, i) => void bytes.writeInt32BE(value, 4 * i));
    return bytes.toString("hex");
  };
  // Inner ones of nothing take no bytes, however many they are.
  assert.throws(() => binary(sized(200, 200, 200, 200), oids.int4.array), { code: "22P03" });
  assert.deepEqual(binary(sized(200, 200, 200, 200, 0), oids.int4.array), []);
  assert.throws(() => binary(sized(-1), oids.int4.array), PostgresError);
  assert.throws(() => binary(sized(100_001) + "ffffffff".repeat(100_001), oids.int4.array), tooMany);
});

test("the older form of bytes is read whole, and what is no escape is refused", () => {
  const long = "a\\\\é\\377".repeat(50_000);
  const want = Buffer.from("61 5c c3 a9 ff".replaceAll(" ", ""), "hex");
  const found = Buffer.from(text(long, oids.bytea.oid).value as Uint8Array);
  assert.ok(found.equals(Buffer.concat(Array(50_000).fill(want))));
  for (const broken of ["\\", "a\\9", "\\40", "\\400"]) {
    assert.throws(() => text(broken, oids.bytea.oid), { code: "22P02" }, broken);
  }
});
