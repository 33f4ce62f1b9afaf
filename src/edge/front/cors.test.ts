import assert from "node:assert/strict";
import { test } from "node:test";
import { cors } from "@connectrpc/connect";
import { callHeaders } from "./cors.ts";

test("the headers of calls are the library's", () => {
  assert.deepEqual(callHeaders, { allowed: cors.allowedHeaders, exposed: cors.exposedHeaders });
});
