import assert from "node:assert/strict";
import { test } from "node:test";
import { partitionOfKey } from "../murmur2.ts";
import { type CloudEvent, EventDraft } from "./cloud-event.ts";
import { partitionKeyBytes, partitionOfEvent } from "./partition.ts";

function event(attributes: Record<string, string>): CloudEvent {
  const draft = new EventDraft();
  for (const [name, value] of Object.entries({ specversion: "1.0", id: "7", source: "/s", type: "t", ...attributes })) {
    draft.set(name, value);
  }
  return draft.finish();
}

for (const [name, attributes, key] of [
  ["partitionkey comes first", { partitionkey: "k\u20ac", subject: "sub" }, "k\u20ac"],
  ["then subject", { subject: "sub", other: "x" }, "sub"],
  ["then source and id", {}, "/s7"],
] as const) {
  test(name, () => {
    assert.deepEqual(Buffer.from(partitionKeyBytes(event(attributes))), Buffer.from(key));
    assert.equal(partitionOfEvent(event(attributes), 97), partitionOfKey(Buffer.from(key), 97));
  });
}

test("every partition of a stream is used", () => {
  const used = new Set(Array.from({ length: 500 }, (_, i) => partitionOfEvent(event({ id: String(i) }), 8)));
  assert.deepEqual([...used].sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
});
