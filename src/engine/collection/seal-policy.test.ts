import assert from "node:assert/strict";
import { test } from "node:test";
import { isSealDue, SearchPace } from "./seal-policy.ts";
import { defaultCollectionSettings } from "./settings.ts";

const settings = { ...defaultCollectionSettings, sealRecords: 100, sealBytes: 1_000, tailRecordsMax: 300 };
const tail = { backlogRecords: 1, backlogBytes: 1, lastWriteMs: 9_999, tailSinceMs: 9_000, tailLacksFields: false };

function isDue(changed: Partial<typeof tail>, isSearched: boolean, nowMs = 10_000): boolean {
  return isSealDue({ ...tail, ...changed }, settings, nowMs, isSearched);
}

test("a tail is sealed by its bytes and age, later where it is searched much", () => {
  assert.equal(isDue({}, false), false);
  for (const [changed, later] of [
    [{ backlogBytes: 1_000 }, { backlogBytes: 4_000 }],
    [{ tailSinceMs: 0 }, { tailSinceMs: -30_000 }],
  ] as const) {
    assert.equal(isDue(changed, false), true);
    assert.equal(isDue(changed, true), false);
    assert.equal(isDue(later, true), true);
  }
});

test("a tail is sealed by its records, in time before writes are refused", () => {
  for (const isSearched of [false, true]) {
    assert.equal(isDue({ backlogRecords: 99 }, isSearched), false);
    assert.equal(isDue({ backlogRecords: 100 }, isSearched), true);
    const large = { ...settings, sealRecords: 40_000, tailRecordsMax: 50_000 };
    for (const [backlogRecords, due] of [
      [24_999, false],
      [25_000, true],
    ] as const) {
      assert.equal(isSealDue({ ...tail, backlogRecords }, large, 10_000, isSearched), due);
    }
  }
});

test("an idle tail, and one that lacks fields, are sealed whether they are searched or not", () => {
  for (const isSearched of [false, true]) {
    assert.equal(isDue({ lastWriteMs: 9_000 }, isSearched), true);
    assert.equal(isDue({ tailLacksFields: true }, isSearched), true);
  }
});

test("a collection is searched much from a hundred searches a second on, and no longer after a pause", () => {
  const pace = new SearchPace();
  assert.equal(pace.isBusy(1_000_000, 0), false, "before the first look nothing is known");
  assert.equal(pace.isBusy(1_000_019, 200), false);
  assert.equal(pace.isBusy(1_000_029, 250), false, "too soon to tell");
  assert.equal(pace.isBusy(1_000_039, 400), true);
  assert.equal(pace.isBusy(1_000_039, 3_399), true);
  assert.equal(pace.isBusy(1_000_039, 3_400), false);
});
