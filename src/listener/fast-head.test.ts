import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFastHead } from "./fast-head.ts";

const post = "POST /a HTTP/1.1\r\nHost: h";

test("an ordinary head is taken", () => {
  const head = parseFastHead(`${post}\r\nContent-Length: 12\r\nX-Thing:  two words \t\r\nEmpty:`);
  assert.deepEqual(head, {
    method: "POST",
    target: "/a",
    headers: { host: "h", "content-length": "12", "x-thing": "two words", empty: "" },
    rawHeaders: ["Host", "h", "Content-Length", "12", "X-Thing", "two words", "Empty", ""],
    bodyBytes: 12,
  });
});

test("keep-alive may be asked for", () => {
  assert.ok(parseFastHead(`${post}\r\nConnection: Keep-Alive`));
});

/** Whatever could be read in two ways, or asks for something, is the full parser's. */
for (const [what, text] of [
  ["another method", "PUT /a HTTP/1.1\r\nHost: h"],
  ["another version", "POST /a HTTP/1.0\r\nHost: h"],
  ["a target in full", "POST http://h/a HTTP/1.1\r\nHost: h"],
  ["a target with a space", "POST /a b HTTP/1.1\r\nHost: h"],
  ["a target beyond ASCII", "POST /\u00e9 HTTP/1.1\r\nHost: h"],
  ["no host", "POST /a HTTP/1.1\r\nX: y"],
  ["two hosts", `${post}\r\nHost: g`],
  ["two lengths", `${post}\r\nContent-Length: 1\r\nContent-Length: 1`],
  ["a length with a sign", `${post}\r\nContent-Length: +1`],
  ["a length with a leading zero", `${post}\r\nContent-Length: 01`],
  ["a length in hexadecimal", `${post}\r\nContent-Length: 0x1`],
  ["a list of lengths", `${post}\r\nContent-Length: 1, 1`],
  ["chunks", `${post}\r\nTransfer-Encoding: chunked`],
  ["an expectation", `${post}\r\nExpect: 100-continue`],
  ["an upgrade", `${post}\r\nUpgrade: h2c`],
  ["a wish to close", `${post}\r\nConnection: close`],
  ["many headers", `${post}${Array.from({ length: 64 }, (_, i) => `\r\nX-${i}: y`).join("")}`],
  ["a folded header", `${post}\r\nX: y\r\n z`],
  ["a space before the colon", `${post}\r\nX : y`],
  ["a lone line feed", `${post}\nX: y`],
  ["a lone carriage return", `${post}\r\nX: y\rZ: w`],
  ["a NUL", `${post}\r\nX: y\0`],
  ["a value beyond ASCII", `${post}\r\nX: \u00e9`],
  ["a line without a colon", `${post}\r\nnothing`],
  ["a name that objects have", `${post}\r\n__proto__: x`],
  ["a body in a GET", "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3"],
  ["an empty line first", "\r\nPOST /a HTTP/1.1\r\nHost: h"],
] as const) {
  test(`${what} is left to the full parser`, () => assert.equal(parseFastHead(text), undefined));
}
