import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback } from "./address.ts";

for (const [host, want] of [
  ["127.0.0.1", true],
  ["127.255.0.9", true],
  ["localhost", true],
  ["LocalHost", true],
  ["::1", true],
  ["[::1]", true],
  ["0:0:0:0:0:0:0:1", true],
  ["::ffff:127.0.0.1", true],
  ["::ffff:7f00:1", true],
  ["128.0.0.1", false],
  ["0.0.0.0", false],
  ["::", false],
  ["", false],
  ["::2", false],
  ["::ffff:10.0.0.1", false],
  ["localhost.example.org", false],
  ["127.0.0.1.example.org", false],
  ["127.1", false],
] as const) {
  test(`isLoopback ${host || "(empty)"} is ${want}`, () => assert.equal(isLoopback(host), want));
}
