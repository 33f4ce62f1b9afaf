import assert from "node:assert/strict";
import { test } from "node:test";
import { Session, sessionLimits } from "./session.ts";

test("the later offset of a partition counts, whichever comes first", () => {
  const session = new Session([{ stream: 1, partition: 0, offset: 5 }]);
  session.merge([
    { stream: 1, partition: 0, offset: 3 },
    { stream: 1, partition: 1, offset: 0 },
    { stream: 2, partition: 0, offset: 9 },
  ]);
  session.merge([{ stream: 2, partition: 0, offset: 10 }]);
  assert.deepEqual(session.token, [
    { stream: 1, partition: 0, offset: 5 },
    { stream: 1, partition: 1, offset: 0 },
    { stream: 2, partition: 0, offset: 10 },
  ]);
  assert.deepEqual(JSON.parse(session.header!), session.token);
  assert.equal(new Session().header, undefined);
});

test("what is sent and kept is bounded, and the newest writes are in it", () => {
  const session = new Session();
  for (let partition = 0; partition < sessionLimits.entriesMax + 10; partition++) {
    session.merge([{ stream: 1, partition, offset: 1 }]);
  }
  assert.equal(session.token.length, sessionLimits.entriesMax);
  assert.ok(session.header!.length <= sessionLimits.headerBytesMax);
  assert.equal(JSON.parse(session.header!).at(-1).partition, sessionLimits.entriesMax + 9);
});
