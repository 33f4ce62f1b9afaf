import assert from "node:assert/strict";
import { test } from "node:test";
import { RouteTable } from "./route-table.ts";

const table = new RouteTable([
  { method: "GET", url: "/a.json" },
  { method: "GET", url: "/v1/:x" },
  { method: "DELETE", url: "/v1/:x" },
  { method: "POST", url: "/v1/:x/y/:z" },
  { method: "POST", url: "/v1/count" },
]);

for (const [path, allow] of [
  ["/a.json", "GET, HEAD"],
  ["/a.json?b=/c", "GET, HEAD"],
  ["/axjson", undefined],
  ["/v1/anything%20", "GET, DELETE, HEAD"],
  ["/v1/count", "POST"],
  ["/v1/", undefined],
  ["/v1/a/b", undefined],
  ["/v1/a/y/b", "POST"],
  ["/v1/a/y/b/", undefined],
  ["/", undefined],
] as const) {
  test(`PUT ${path} ${allow === undefined ? "has no route" : `may be ${allow}`}`, () => {
    const refusal = table.refuse("PUT", path);
    assert.equal(refusal.allow, allow);
    assert.equal(refusal.error.reason, allow === undefined ? "not_found" : "method_not_allowed");
  });
}
