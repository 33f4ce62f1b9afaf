import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type FastHead, parseFastHead } from "./fast-head.ts";
import { type KnownHead, readHead } from "./known-head.ts";

const bytesMax = 8 * 1024;

function know(text: string): KnownHead {
  const known = readHead(Buffer.from(text, "latin1"), bytesMax)?.known;
  assert(known !== undefined, text);
  return known;
}

function parsed(text: string): FastHead | undefined {
  return parseFastHead(text.slice(0, text.indexOf("\r\n\r\n")));
}

const post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nX-Name: n\r\n\r\n";
const get = "GET /a HTTP/1.1\r\nHost: h\r\nX-Name: n\r\n\r\n";

for (const [what, before, text] of [
  ["the same head", post, post],
  ["the same path with a number", post.replace("/a", "/a/17/b"), post.replace("/a", "/a/17/b")],
  ["another path", post, post.replace("/a", "/another/path?with=query")],
  ["another method and no body", post.replace("12", "0"), post.replace("POST", "GET").replace("12", "0")],
  ["a path with a number", post, post.replace("/a", "/a/17/b")],
  ["a path with a number and a longer body", post, post.replace("/a", "/a/17/b").replace("12", "345")],
  ["a longer body", post, post.replace("12", "123456789")],
  ["a shorter body", post, post.replace("12", "0")],
  ["another path and body", post, post.replace("/a", "/b").replace("12", "7")],
  ["a path without a body", get, get.replace("/a", "/b")],
  [
    "a length at the end",
    "POST /a HTTP/1.1\r\nhost: h\r\ncontent-length:1\r\n\r\n",
    "POST /b HTTP/1.1\r\nhost: h\r\ncontent-length:22\r\n\r\n",
  ],
] as const) {
  test(`${what} is known again, as it would be parsed`, () => {
    const known = know(before);
    for (let i = 0; i < 3; i++) {
      const found = known.find(Buffer.from(`${text}and more`, "latin1"))!;
      assert(found.head !== undefined);
      assert.deepEqual([found.head, found.headLength], [parsed(text), text.length]);
    }
    const again = known.find(Buffer.from(before, "latin1"));
    assert.deepEqual([again?.head, again?.headLength], [parsed(before), before.length]);
  });
}

for (const [what, text] of [
  ["another header", post.replace("X-Name: n", "X-Name: m")],
  ["one more header", post.replace("X-Name", "X: y\r\nX-Name")],
  ["one header less", post.replace("X-Name: n\r\n", "")],
  ["a length with a leading zero", post.replace("12", "012")],
  ["a length with a sign", post.replace("12", "-1")],
  ["a length of ten digits", post.replace("12", "1234567890")],
  ["no digits", post.replace("12", "")],
  ["a space after the length", post.replace("12", "12 ")],
  ["half a head", post.slice(0, -3)],
  ["half a length", post.slice(0, post.indexOf("12") + 1)],
  ["half a line", "POST /a"],
] as const) {
  test(`${what} has to be parsed`, () => {
    assert.equal(know(post).find(Buffer.from(text, "latin1")), undefined);
  });
}

for (const [what, line] of [
  ["another version", "POST /a HTTP/1.0"],
  ["a target with a space", "POST /a b HTTP/1.1"],
  ["a GET with a body", "GET /a HTTP/1.1"],
] as const) {
  test(`${what} is known not to be taken`, () => {
    const text = post.replace("POST /a HTTP/1.1", line);
    assert.deepEqual(know(post).find(Buffer.from(text, "latin1")), { head: undefined, headLength: text.length });
  });
}

test("whatever is known again is what would be parsed", () => {
  const pieces = [
    "POST ",
    "GET ",
    "/",
    "a",
    " HTTP/1.1",
    "\r\n",
    "\r",
    "\n",
    ":",
    " ",
    "0",
    "1",
    "23",
    "Host: h",
    "content-length: ",
  ];
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 6 });
  const change = fc.record({ at: fc.nat(post.length), drop: fc.nat(6), put: text });
  fc.assert(
    fc.property(fc.constantFrom(post, get), change, fc.boolean(), (before, { at, drop, put }, isSecond) => {
      const changed = before.slice(0, at) + put.join("") + before.slice(at + drop);
      const known = know(before);
      if (isSecond) known.find(Buffer.from(before.replace("/a", "/b"), "latin1"));
      const found = known.find(Buffer.from(changed, "latin1"));
      if (found === undefined) return;
      const end = changed.indexOf("\r\n\r\n");
      assert.equal(found.headLength, end + 4);
      assert.deepEqual(found.head, parseFastHead(changed.slice(0, end)));
    }),
    { numRuns: 20_000 },
  );
});
