import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NumberedTargets } from "./numbered-target.ts";

const pattern = /^(\/(?:[\x21-\x7e]*\/)?)(0|[1-9]\d{0,8})(\/[!-.0->@-~]{0,31})$/;

function expected(target: string) {
  const match = target.length > 512 ? null : pattern.exec(target);
  return match === null ? undefined : { start: match[1], number: Number(match[2]), end: match[3] };
}

function read(targets: NumberedTargets, bytes: Buffer, from: number, to: number) {
  const target = targets.read(bytes, from, to);
  return target && { ...target, start: target.start.text };
}

const segment = fc.oneof(
  fc.nat(20).map(String),
  fc.constantFrom("", "a", "records", "records?x=1", "00", "07", "-1", "1234567890", "999999999", "x9", "a b", "\x7f"),
  fc.stringMatching(/^[a-z?\xe9]{0,4}$/),
);

test("targets are taken apart as a pattern would, whatever came before", () => {
  const targets = new NumberedTargets();
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), fc.nat(3), (segments, shift) => {
      const target = `/${segments.join("/")}`;
      const bytes = Buffer.from(`${"p".repeat(shift)}${target}/5/records`, "latin1");
      assert.deepEqual(read(targets, bytes, shift, shift + target.length), expected(target));
    }),
    { numRuns: 2_000 },
  );
});

test("thousands of starts are told apart, also when they come again", () => {
  const targets = new NumberedTargets();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 5_000; i++) {
      const target = `/streams/s-${i}/partitions/${i}/records`;
      assert.deepEqual(read(targets, Buffer.from(target), 0, target.length), expected(target));
    }
  }
});

test("a start that comes again brings along what was found out about it", () => {
  const targets = new NumberedTargets();
  const startOf = (target: string) => targets.read(Buffer.from(target), 0, target.length)!.start;
  startOf("/streams/a/partitions/1/records").known = "a";
  startOf("/streams/b/partitions/1/records").known = "b";
  assert.equal(startOf("/streams/a/partitions/2/records").known, "a");
  assert.equal(startOf("/streams/b/partitions/20/end").known, "b");
  assert.equal(startOf("/streams/c/partitions/1/records").known, undefined);
});

for (const target of [`/${"a".repeat(600)}/1/records`, `/a/1/${"r".repeat(32)}`]) {
  test(`one of ${target.length} bytes is left alone`, () => {
    assert.equal(new NumberedTargets().read(Buffer.from(target), 0, target.length), undefined);
  });
}
