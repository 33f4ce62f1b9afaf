import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram, Registry } from "prom-client";
import { Latencies } from "./latencies.ts";

test("it shows what the library's own histogram shows", async () => {
  const bounds = [0.001, 0.01, 1];
  const ours = new Registry();
  const theirs = new Registry();
  const latencies = new Latencies("service_seconds", "How long", bounds, ours);
  const histogram = new Histogram({
    name: "service_seconds",
    help: "How long",
    labelNames: ["route", "method"],
    buckets: bounds,
    registers: [theirs],
  });
  for (const labels of [
    { route: "/a", method: "GET" },
    { route: "/b", method: "POST" },
  ]) {
    const row = latencies.row(labels);
    for (const seconds of [0.0005, 0.001, 0.005, 0.5, 2, 100]) {
      row.observe(seconds);
      histogram.labels(labels).observe(seconds);
    }
  }
  assert.equal(await ours.metrics(), await theirs.metrics());
  ours.resetMetrics();
  assert.match(await ours.metrics(), /service_seconds_count\{route="\/a",method="GET"\} 0/);
});
