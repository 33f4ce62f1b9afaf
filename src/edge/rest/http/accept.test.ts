import assert from "node:assert/strict";
import { test } from "node:test";
import { preferredType } from "./accept.ts";

const offered = ["application/json", "text/event-stream"];

for (const [accept, preferred] of [
  ["text/event-stream", 1],
  ["TEXT/Event-Stream; charset=utf-8", 1],
  ["application/json", 0],
  ["*/*", 0],
  ["", 0],
  ["text/html", 0],
  ["text/*", 1],
  ["text/event-stream, */*", 1],
  ["*/*, text/event-stream", 1],
  ["text/event-stream;q=0", 0],
  ["text/event-stream;q=0, */*;q=0.1", 0],
  ["application/json, text/event-stream;q=0.9", 0],
  ["application/json;q=0.5, text/event-stream;q=0.9", 1],
  ["text/event-stream;q=0.4, */*;q=0.5", 0],
  ["application/json, text/event-stream", 0],
  ["text/event-stream, application/json", 1],
  ["text/event-stream;q=x, application/json;q=0.1", 0],
  ["application/json;q=0, text/*;q=0.001", 1],
] as const) {
  test(`Accept: ${accept} prefers ${offered[preferred]}`, () => {
    assert.equal(preferredType(accept, offered), preferred);
  });
}
