import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, duration, parseBytes, parseDuration, score, seconds, short } from "./format.ts";

test("numbers are written for people", () => {
  assert.equal(bytes(512), "512 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(64 * 1024 * 1024), "64 MiB");
  assert.equal(seconds(0.00025), "250 µs");
  assert.equal(seconds(0.0042), "4.2 ms");
  assert.equal(seconds(2.5), "2.5 s");
  assert.equal(duration(90_061_000), "1d 1h");
  assert.equal(duration(500), "500ms");
  assert.equal(short(1234.567), "1,234.57");
  assert.equal(short(1_500_000), "1.5M");
  assert.equal(score(0.016393442), "0.01639");
});

for (const [text, want] of [
  ["30s", 30_000],
  ["1.5h", 5_400_000],
  ["7 d", 604_800_000],
  ["soon", undefined],
] as const) {
  test(`the duration ${text}`, () => assert.equal(parseDuration(text), want));
}

for (const [text, want] of [
  ["512", 512],
  ["64 MiB", 67_108_864],
  ["1gib", 1_073_741_824],
  ["much", undefined],
] as const) {
  test(`the size ${text}`, () => assert.equal(parseBytes(text), want));
}
