import assert from "node:assert/strict";
import { test } from "node:test";
import { parseScrape, quantile, rate, sum } from "./prometheus.ts";

const before = parseScrape(`# HELP requests_total Requests
# TYPE requests_total counter
requests_total{route="/a",status="200"} 10
requests_total{route="/a",status="404"} 1
seconds_bucket{le="0.1"} 0
seconds_bucket{le="1"} 0
seconds_bucket{le="+Inf"} 0
disk_bytes 4096
`);
const now = parseScrape(`requests_total{route="/a",status="200"} 30
requests_total{route="/a",status="404"} 1
requests_total{route="/b \\"x\\"",status="200"} 4
seconds_bucket{le="0.1"} 50
seconds_bucket{le="1"} 100
seconds_bucket{le="+Inf"} 100
disk_bytes 8192
`);

test("samples are summed over the labels that are picked", () => {
  assert.equal(sum(now, "disk_bytes"), 8192);
  assert.equal(sum(now, "requests_total"), 35);
  assert.equal(
    sum(now, "requests_total", ({ status }) => status === "404"),
    1,
  );
  assert.equal(
    sum(now, "requests_total", ({ route }) => route === '/b "x"'),
    4,
  );
  assert.equal(sum(now, "nothing"), 0);
});

test("a rate is the growth by second, and a counter that began anew is no loss", () => {
  assert.equal(rate(before, now, 2, "requests_total"), 12);
  assert.equal(rate(now, before, 1, "requests_total"), 11);
});

test("quantiles are taken of what came between two scrapes", () => {
  assert.equal(quantile(before, now, "seconds", 0.5), 0.1);
  assert.equal(quantile(before, now, "seconds", 0.25), 0.05);
  assert.ok(Math.abs(quantile(before, now, "seconds", 0.75)! - 0.55) < 1e-9);
  assert.equal(quantile(now, now, "seconds", 0.5), undefined);
  assert.equal(quantile(before, now, "nothing", 0.5), undefined);
});
