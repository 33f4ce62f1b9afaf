import assert from "node:assert/strict";
import { test } from "node:test";
import { digestWordCount } from "./entry.ts";
import { sipHash } from "./sip-hash.ts";

const counted = (count: number) => Buffer.from(Array.from({ length: count }, (_, i) => i));

/** Of SipHash's authors, for messages and a key whose bytes count up from 0. */
for (const [bytes, expected] of [
  [0, "a3817f04ba25a8e66df67214c7550293"],
  [1, "da87c1d86b99af44347659119b22fc45"],
  [7, "a1f1ebbed8dbc153c0b84aa61ff08239"],
  [8, "3b62a9ba6258f5610f83e264f31497b4"],
  [15, "5493e99933b0a8117e08ec0f97cfc3d9"],
  [63, "5150d1772f50834a503e069a973fbd7c"],
] as const) {
  test(`the digest of ${bytes} bytes is SipHash's`, () => {
    const digest = new Uint32Array(digestWordCount + 2);
    sipHash(counted(16), counted(bytes), digest, 1);
    assert.equal(Buffer.from(digest.buffer).toString("hex", 4, 20), expected);
    assert.deepEqual([digest[0], digest.at(-1)], [0, 0]);
  });
}
