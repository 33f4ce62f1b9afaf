import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { FlightDataSchema } from "../../gen/arrow/flight/protocol/Flight_pb.ts";
import { piecesOf } from "./lane.ts";

for (const sizes of [[], [10], [200, 40_000, 24, 60_000, 8], [3_000_000]]) {
  test(`a message with buffers of ${sizes.join(", ") || "nothing"}`, () => {
    const metadata = Buffer.alloc(300, 1);
    const body = sizes.map((size, i) => Buffer.alloc(size, i + 2));
    const bodyBytes = sizes.reduce((sum, size) => sum + size, 0);
    const pieces = [...piecesOf({ metadata, body, bodyBytes })];
    const whole = Buffer.concat(pieces);
    assert.equal(whole[0], 0);
    assert.equal(whole.readUInt32BE(1), whole.byteLength - 5);
    const data = fromBinary(FlightDataSchema, whole.subarray(5));
    assert.deepEqual(Buffer.from(data.dataHeader), metadata);
    assert.deepEqual(Buffer.from(data.dataBody), Buffer.concat(body));
    for (const large of body.filter((buffer) => buffer.byteLength > 20_000)) assert.ok(pieces.includes(large));
  });
}
