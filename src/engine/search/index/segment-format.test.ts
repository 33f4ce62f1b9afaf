import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../errors.ts";
import { SectionReader, SectionWriter } from "./segment-format.ts";

test("a header that was overwritten by zeros is damage, though no bytes have a sum of zero", () => {
  const writer = new SectionWriter();
  writer.add("ids", Uint32Array.from([1, 2, 3]));
  const blob = writer.finish({ docCount: 3 });
  new SectionReader(blob).verify();
  blob.fill(0, 8, 64);
  assert.throws(
    () => new SectionReader(blob),
    (error) => error instanceof EngineError && /damaged segment/.test(error.message),
  );
});
