import assert from "node:assert/strict";
import { test } from "node:test";
import { type Reason, reasons } from "../../engine/errors.ts";
import { chooseLocale, hintFor, locales } from "./hints.ts";

test("every reason has a hint in every language", () => {
  for (const reason of Object.keys(reasons) as Reason[]) {
    const hints = locales.map((locale) => hintFor(reason, locale));
    for (const [i, hint] of hints.entries()) {
      assert.ok(hint.length > 3 && hint.length < 120, `${reason} in ${locales[i]}`);
    }
    // Two languages may agree on two words, but not all of them on one.
    assert.ok(new Set(hints).size >= 5, reason);
  }
});

test("the language with the highest weight wins, the first of equals", () => {
  const table: [string | undefined, string][] = [
    [undefined, "en"],
    ["", "en"],
    ["fr;q=0.5, de;q=0.6", "de"],
    ["fr, de", "fr"],
    ["DE-ch", "de"],
    ["xx;q=1, ja;q=0.1", "ja"],
    ["de;q=0", "en"],
    ["de;q=nonsense", "en"],
    [`${"x,".repeat(100_000)}de`, "en"],
  ];
  for (const [header, want] of table) assert.equal(chooseLocale(header), want, header?.slice(0, 40));
});
