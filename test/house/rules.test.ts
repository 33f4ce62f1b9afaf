import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../support/source.ts";

/** What is committed, or would be. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path !== "" && statSync(join(root, path), { throwIfNoEntry: false })?.isFile());
const read = (path: string) => readFileSync(join(root, path), "utf8");
const code = files.filter((path) => /\.(?:tsx?|js|mjs|sh)$/.test(path) && !path.startsWith("src/gen/"));
const ours = code.filter((path) => path !== "test/house/rules.test.ts");
const texts = files.filter((path) => /\.(?:tsx?|js|mjs|sh|json|ya?ml|md|proto|html|css)$|^bin\/|^\.ci\//.test(path));

test("the rules see the files", () => {
  assert.ok(ours.length > 60);
  assert.ok(texts.includes("package-lock.json"));
});

for (const [rule, pattern] of [
  ["types are not cast away", /\bas any\b|<any>|@ts-ignore|@ts-nocheck|@ts-expect-error/],
  ["nothing is left for later", /\b(?:TODO|FIXME|XXX|HACK)\b/],
  ["no test is left out or run alone", /\b(?:test|describe|it)\.(?:only|skip|todo)\(/],
  ["modules export by name", /^export default\b/m],
] as const) {
  test(rule, () => {
    // A live schema is what its module exports, whatever its name.
    for (const path of ours)
      if (path !== "demo/chat/functions/schema.ts") assert.doesNotMatch(read(path), pattern, path);
  });
}

test("a file has at most 465 lines", () => {
  for (const path of ours) {
    if (!path.startsWith("src/")) continue;
    const lines = read(path).split("\n").length;
    assert.ok(lines <= 465, `${path} has ${lines} lines`);
  }
});

test("file names are in kebab case", () => {
  for (const path of ours) assert.match(path, /^[a-z0-9./_-]+$/, path);
});

test("the lockfile names no registry", () => {
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});

test("no file names a folder of the machine it was written on", () => {
  const machine = /(?:^|[\s"'`(=:])\/(?:home|Users|root|work|workspace|mnt|private)\/[A-Za-z0-9._-]+/m;
  for (const path of texts) {
    if (path === "test/house/rules.test.ts" || path === "package-lock.json") continue;
    const found = machine.exec(read(path));
    assert.equal(found, null, `${path}: ${found?.[0]}`);
  }
});
