import assert from "node:assert/strict";
import { test } from "node:test";
import { asCloudEvent, asJson, asText, fromBase64, hexDump, preview, textToBase64 } from "./bytes.ts";

const record = { offset: 0, timestamp_ms: 0 };

test("text, JSON and bytes are told apart", () => {
  assert.equal(asText(fromBase64(textToBase64("grüße\n"))), "grüße\n");
  assert.equal(asText(new Uint8Array([0xff, 0xfe])), undefined);
  assert.equal(asText(new Uint8Array([0x00, 0x41])), undefined);
  assert.deepEqual(asJson(fromBase64(textToBase64('{"a":1}'))), { a: 1 });
  assert.equal(asJson(fromBase64(textToBase64("hello"))), undefined);
});

test("a dump has offsets, bytes and characters", () => {
  assert.equal(
    hexDump(new TextEncoder().encode("0123456789abcdef\n")),
    "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef\n" +
      "00000010  0a                                                ·",
  );
  assert.match(hexDump(new Uint8Array(64), 2), /… 32 more bytes$/);
});

test("a preview is one line", () => {
  assert.equal(preview(textToBase64('{\n  "a": 1\n}')), '{ "a": 1 }');
  assert.equal(preview(undefined), "null");
  assert.equal(preview("/wD/"), "ff 00 ff");
  assert.equal(preview(textToBase64("x".repeat(500)), 10), `${"x".repeat(10)}…`);
});

test("a record of the CloudEvents binding is its event, and any other is none", () => {
  const headers = Object.entries({
    ce_specversion: "1.0",
    ce_id: "1",
    ce_type: "t",
    ce_source: "/s",
    "content-type": "application/json",
  }).map(([key, value]) => ({ key, value: textToBase64(value) }));
  assert.deepEqual(asCloudEvent({ ...record, headers, value: textToBase64('{"total":12}') }), {
    specversion: "1.0",
    id: "1",
    type: "t",
    source: "/s",
    datacontenttype: "application/json",
    data: { total: 12 },
  });
  assert.equal(asCloudEvent({ ...record, value: "AA==" }), undefined);
});
