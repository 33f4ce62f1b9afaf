import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FileSlotFiles } from "./slot-file.ts";
import { slotBytes } from "./slots.ts";

test("a slot that was written is found again, whichever thread wrote it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "slots-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "journal");
  // A clock by which every write takes long, so that all but the first few go to another thread.
  let nowMs = 0;
  t.mock.method(performance, "now", () => (nowMs += 20));
  const slots = await new FileSlotFiles(path).create(8);
  for (let i = 0; i < 24; i += 2) {
    await slots.write(i % 8, Buffer.alloc(slotBytes, i));
    await slots.write((i % 8) + 1, Buffer.alloc(slotBytes, i + 1));
  }
  await slots.write(2, Buffer.concat([Buffer.alloc(slotBytes, 18), Buffer.alloc(slotBytes, 19)]));
  await slots.close();
  const bytes = readFileSync(path);
  for (let slot = 0; slot < 8; slot++) {
    assert.ok(bytes.subarray(slot * slotBytes, (slot + 1) * slotBytes).equals(Buffer.alloc(slotBytes, 16 + slot)));
  }
  await assert.rejects(slots.write(0, Buffer.alloc(slotBytes)), { code: "EBADF" });
});
