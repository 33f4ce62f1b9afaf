import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { suites } from "../../scripts/suites.ts";

const cwd = join(import.meta.dirname, "../..");

test("every test file belongs to one suite", () => {
  const all = globSync("{src,bench,scripts,test,demo,clients}/**/*.test.ts", {
    cwd,
    exclude: (path) => path === "node_modules",
  });
  assert.ok(all.length > 200, String(all.length));
  const run = Object.values(suites).flatMap((patterns) => globSync([...patterns], { cwd }));
  assert.deepEqual(run.sort(), all.sort());
});
