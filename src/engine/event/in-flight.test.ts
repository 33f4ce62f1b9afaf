import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { digestWordCount } from "./dedup/entry.ts";
import { InFlight } from "./in-flight.ts";

/** Few first words, so that events share their place in the table. */
const digest = fc.tuple(fc.constantFrom(0, 1, 2046, 2047, 0xffff_ffff), fc.nat(3), fc.nat(1), fc.constant(0xffff_fff0));
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ take: fc.array(digest, { minLength: 1, maxLength: 12 }) }) },
  fc.record({ release: fc.nat() }),
);

test("any course of requests takes and releases as a map would", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const inFlight = new InFlight();
      const model = new Map<string, number>();
      const open: { request: number; digests: Uint32Array }[] = [];
      for (const each of steps) {
        if ("take" in each) {
          const request = inFlight.nextRequest();
          const digests = Uint32Array.from(each.take.flat());
          for (const [i, words] of each.take.entries()) {
            const name = words.join();
            const isOurs = (model.get(name) ?? request) === request;
            assert.equal(inFlight.take(digests, i * digestWordCount, request), isOurs);
            if (isOurs) model.set(name, request);
          }
          open.push({ request, digests });
        } else if (open.length > 0) {
          const [{ request, digests }] = open.splice(each.release % open.length, 1) as [(typeof open)[number]];
          for (let at = 0; at < digests.length; at += digestWordCount) inFlight.release(digests, at, request);
          for (const [name, by] of model) if (by === request) model.delete(name);
        }
        assert.equal(inFlight.size, model.size);
      }
    }),
  );
});

test("more events than there was room for are all known, and all forgotten", () => {
  const inFlight = new InFlight();
  const count = 10_000;
  const digests = Uint32Array.from({ length: count * digestWordCount }, (_, i) => Math.imul(i + 1, 0x9e37_79b1));
  const [mine, other] = [inFlight.nextRequest(), inFlight.nextRequest()];
  for (let at = 0; at < digests.length; at += digestWordCount) assert(inFlight.take(digests, at, mine));
  assert.equal(inFlight.size, count);
  for (let at = 0; at < digests.length; at += digestWordCount) {
    assert(!inFlight.take(digests, at, other));
    inFlight.release(digests, at, other);
  }
  assert.equal(inFlight.size, count);
  for (let at = 0; at < digests.length; at += digestWordCount) inFlight.release(digests, at, mine);
  assert.equal(inFlight.size, 0);
});
