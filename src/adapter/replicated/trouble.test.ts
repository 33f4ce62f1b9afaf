import assert from "node:assert/strict";
import { test } from "node:test";
import { troubleOf } from "./trouble.ts";

const owner = { node: "a", address: "a:1" };
const near = { entries: 0, ms: 300 };

for (const [what, given, told] of [
  ["an owner that answers", { role: "owner", mayAnswer: true, owner, lag: near }, null],
  ["an owner without a lease", { role: "owner", mayAnswer: false, owner, lag: near }, /may not answer/],
  ["a standby that follows", { role: "standby", mayAnswer: false, owner, lag: near }, null],
  ["a standby without an owner", { role: "standby", mayAnswer: false, owner: undefined, lag: near }, /no node is/],
  ["a new one", { role: "standby", mayAnswer: false, owner, lag: { entries: 0, ms: Infinity } }, /not been read/],
  ["one cut off", { role: "standby", mayAnswer: false, owner, lag: { entries: 0, ms: 9_000 } }, /not be read for 9 s/],
  ["one behind", { role: "standby", mayAnswer: false, owner, lag: { entries: 7, ms: 9_000 } }, /^7 entries.*9 s$/],
] as const) {
  test(`trouble of ${what}`, () => {
    const found = troubleOf({ ...given, isFull: false });
    if (told === null) assert.equal(found, null);
    else assert.match(found ?? "", told);
  });
}
