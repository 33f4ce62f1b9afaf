import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { BasicAuthSchema } from "../../gen/arrow/flight/protocol/Flight_pb.ts";
import { bearerOf, bearerOfPayload } from "./credential.ts";

for (const [given, want] of [
  [undefined, undefined],
  ["Bearer abc", "Bearer abc"],
  [`Basic ${btoa("ada:s3cret")}`, "Bearer s3cret"],
  [`basic  ${btoa("ada:with:colons")}`, "Bearer with:colons"],
  [`Basic ${btoa(":key")}`, "Bearer key"],
  ["Basic ???", "Basic ???"],
] as const) {
  test(`the header ${given}`, () => {
    assert.equal(bearerOf(given), want);
  });
}

test("a password in the message of a handshake", () => {
  const payload = toBinary(BasicAuthSchema, create(BasicAuthSchema, { username: "ada", password: "s3cret" }));
  assert.equal(bearerOfPayload(payload), "Bearer s3cret");
  assert.equal(bearerOfPayload(new Uint8Array(0)), undefined);
  assert.equal(bearerOfPayload(Uint8Array.of(0xff, 0xff, 0xff)), undefined);
});
