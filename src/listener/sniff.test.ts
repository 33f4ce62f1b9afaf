import assert from "node:assert/strict";
import { test } from "node:test";
import { tell } from "./sniff.ts";

for (const [bytes, want] of [
  ["", undefined],
  ["P", undefined],
  ["PR", undefined],
  ["PRI", "http2"],
  ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
  ["G", "http1"],
  ["PO", "http1"],
  ["PROPFIND / HTTP/1.1\r\n", "http1"],
  ["pri", "http1"],
  ["\r\n", "http1"],
  ["\x16\x03\x01", "http1"],
] as const) {
  test(`the first bytes ${JSON.stringify(bytes)} say ${want ?? "nothing yet"}`, () => {
    assert.equal(tell(Buffer.from(bytes, "latin1")), want);
  });
}
