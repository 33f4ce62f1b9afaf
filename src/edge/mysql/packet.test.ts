import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteReader } from "./byte-reader.ts";
import { MysqlError } from "./error.ts";
import { PacketWriter, payloadBytesMax } from "./packet-writer.ts";

test("a packet has its length, its number and its payload", () => {
  const packet = new PacketWriter();
  packet.sequence = 254;
  for (const text of ["ab", "", "c"]) packet.begin().text(text).end();
  assert.deepEqual([...packet.take()], [2, 0, 0, 254, 97, 98, 0, 0, 0, 255, 1, 0, 0, 0, 99]);
  assert.equal(packet.length, 0);
});

for (const [length, parts] of [
  [payloadBytesMax - 1, [payloadBytesMax - 1]],
  [payloadBytesMax, [payloadBytesMax, 0]],
  [payloadBytesMax + 5, [payloadBytesMax, 5]],
  [2 * payloadBytesMax + 1, [payloadBytesMax, payloadBytesMax, 1]],
] as const) {
  test(`a message of ${length} bytes goes in ${parts.length} packets`, () => {
    const message = Buffer.alloc(length);
    for (let i = 0; i < length; i += 4096) message.writeUInt8(i % 251, i);
    const packet = new PacketWriter();
    packet.begin().u8(7).end();
    packet.begin().bytes(message).end();
    packet.begin().u8(8).end();
    const bytes = packet.take();
    let at = 5;
    const found: Buffer[] = [];
    for (const [i, part] of parts.entries()) {
      assert.equal(bytes.readUIntLE(at, 3), part);
      assert.equal(bytes[at + 3], i + 1);
      found.push(bytes.subarray(at + 4, at + 4 + part));
      at += 4 + part;
    }
    assert.ok(Buffer.concat(found).equals(message));
    assert.deepEqual([...bytes.subarray(at)], [1, 0, 0, parts.length + 1, 8]);
  });
}

test("a message that was begun can be taken back", () => {
  const packet = new PacketWriter();
  packet.begin().text("kept").end();
  packet.begin().text("not");
  packet.abandon();
  packet.abandon();
  assert.equal(packet.take().length, 8);
});

for (const value of [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000]) {
  test(`the length ${value} is read as it was written`, () => {
    const packet = new PacketWriter();
    packet.begin().lengthInt(value).end();
    const payload = packet.take().subarray(4);
    if (value >= 0x100_0000) {
      // No packet holds as much, so such a length is refused by its reader.
      assert.throws(() => new ByteReader(payload).length(), MysqlError);
      assert.equal(payload.readBigUInt64LE(1), BigInt(value));
      return;
    }
    assert.equal(new ByteReader(payload).length(), value);
  });
}

test("texts and bytes are read as they were written", () => {
  const packet = new PacketWriter(1);
  packet.begin().nulText("naïve").lengthText("x".repeat(300)).lengthAscii("12").u16(513).u32(0xdeadbeef);
  packet
    .u64(-2n)
    .f32(0.5)
    .f64(-1e300)
    .bytes(Buffer.from([9]))
    .end();
  const reader = new ByteReader(packet.take().subarray(4));
  assert.equal(reader.nulText(), "naïve");
  assert.equal(reader.lengthBytes().toString(), "x".repeat(300));
  assert.equal(reader.lengthBytes().toString(), "12");
  assert.equal(reader.u16(), 513);
  assert.equal(reader.u32(), 0xdeadbeef);
  assert.equal(reader.i64(), -2n);
  assert.equal(reader.f32(), 0.5);
  assert.equal(reader.f64(), -1e300);
  assert.deepEqual([...reader.rest()], [9]);
});

for (const [name, bytes, read] of [
  ["a string without an end", [97, 98], (reader: ByteReader) => reader.nulText()],
  ["a length over the end", [5, 97], (reader: ByteReader) => reader.lengthBytes()],
  ["a number over the end", [1, 2, 3], (reader: ByteReader) => reader.u32()],
  ["a length that is none", [0xff], (reader: ByteReader) => reader.length()],
  ["a length of 64 bits", [0xfe, 255, 255, 255, 255, 255, 255, 255, 255], (reader: ByteReader) => reader.length()],
  ["nothing at all", [], (reader: ByteReader) => reader.u8()],
] as const) {
  test(`${name} is a malformed packet`, () => {
    assert.throws(() => read(new ByteReader(Buffer.from(bytes))), { errno: 1835, fatal: true });
  });
}
