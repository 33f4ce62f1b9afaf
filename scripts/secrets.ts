// Looks for secrets in everything that is committed: keys, tokens and passwords whose form gives them away.
//
//   node scripts/secrets.ts            the tree
//   node scripts/secrets.ts FILE…      these files
//
// A line that must hold such a form, for example in a test, says so with `not-a-secret` on it or on the line before.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { findSecrets } from "../test/support/secrets.ts";

const fileBytesMax = 4 * 1024 * 1024;

const given = process.argv.slice(2);
const files =
  given.length > 0 ? given : execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean);

let found = 0;
for (const file of files) {
  let text: string;
  try {
    const bytes = readFileSync(file);
    if (bytes.length > fileBytesMax) continue;
    // Binary files too: a key keeps its form in them.
    text = bytes.toString("latin1");
  } catch {
    // Deleted in the working tree, and not yet in the index.
    continue;
  }
  for (const { line, kind } of findSecrets(text)) {
    found++;
    process.stderr.write(`${file}:${line}: looks like ${kind}\n`);
  }
}
process.exitCode = found === 0 ? 0 : 1;
