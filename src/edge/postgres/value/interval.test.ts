import assert from "node:assert/strict";
import { test } from "node:test";
import { type IntervalStyle, intervalStyles } from "./interval.ts";

const hour = 3_600_000_000n;

for (const [months, days, micros, texts] of [
  [0, 0, 0n, { iso_8601: "PT0S", sql_standard: "0", postgres_verbose: "@ 0" }],
  [
    14,
    -3,
    4n * hour + 5_500_000n,
    {
      iso_8601: "P1Y2M-3DT4H5.5S",
      sql_standard: "+1-2 -3 +4:00:05.5",
      postgres_verbose: "@ 1 year 2 mons -3 days 4 hours 5.5 secs",
    },
  ],
  [-12, 0, 0n, { iso_8601: "P-1Y", sql_standard: "-1-0", postgres_verbose: "@ 1 year ago" }],
  [0, -1, -hour, { iso_8601: "P-1DT-1H", sql_standard: "-1 1:00:00", postgres_verbose: "@ 1 day 1 hour ago" }],
  [0, 0, 61_000_000n, { iso_8601: "PT1M1S", sql_standard: "0:01:01", postgres_verbose: "@ 1 min 1 sec" }],
] as const) {
  for (const [style, want] of Object.entries(texts)) {
    test(`${want} is ${style}`, () => assert.equal(intervalStyles[style as IntervalStyle](months, days, micros), want));
  }
}
