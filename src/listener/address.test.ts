import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../engine/errors.ts";
import { formatAddress, parseAddress } from "./address.ts";

for (const [text, host, port] of [
  ["127.0.0.1:8080", "127.0.0.1", 8080],
  ["localhost:0", "localhost", 0],
  ["db-1.internal:65535", "db-1.internal", 65_535],
  ["[::1]:8080", "::1", 8080],
  ["[fe80::1]:80", "fe80::1", 80],
  [":8080", "::", 8080],
  ["*:8080", "::", 8080],
  ["0.0.0.0:8080", "0.0.0.0", 8080],
  ["8080", "127.0.0.1", 8080],
  [" 8080 ", "127.0.0.1", 8080],
] as const) {
  test(`parseAddress ${text}`, () => assert.deepEqual(parseAddress(text), { host, port }));
}

for (const [text, message] of [
  ["", /must not be empty/],
  ["localhost", /has no port/],
  ["localhost:", /has no port from 0/],
  ["localhost:http", /has no port from 0/],
  ["localhost:65536", /has no port from 0/],
  ["99999", /has no port from 0/],
  ["localhost:-1", /has no port from 0/],
  ["localhost:1.5", /has no port from 0/],
  ["::1", /IPv6 address without a port/],
  ["::1:8080", /IPv6 address without/],
  ["fe80::1:2:3:4:5:6:80", /without brackets/],
  ["[::1:8080", /IPv6/],
  ["[127.0.0.1]:80", /between its brackets/],
  ["[::1]", /has no port from 0/],
  ["300.0.0.1:80", /not an IPv4 address/],
  ["http://localhost:80", /without brackets|host name/],
  ["a b:80", /not a host name/],
] as const) {
  test(`parseAddress refuses ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseAddress(text, "SERVICE_LISTEN"),
      (error) =>
        error instanceof EngineError &&
        error.reason === "invalid_argument" &&
        error.details["field"] === "SERVICE_LISTEN" &&
        message.test(error.message),
    );
  });
}

test("formatAddress puts IPv6 in brackets", () => {
  assert.equal(formatAddress({ host: "::1", port: 80 }), "[::1]:80");
  assert.equal(formatAddress({ host: "localhost", port: 80 }), "localhost:80");
});
