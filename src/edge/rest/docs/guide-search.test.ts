import assert from "node:assert/strict";
import { test } from "node:test";
import { searchGuides } from "./guide-search.ts";
import { guideGroups, loadGuides } from "./guides.ts";

const guides = loadGuides();
const first = (question: string) => {
  const [found] = searchGuides(guides, question);
  return found === undefined ? undefined : `${found.guide.name}#${found.section.slug}`;
};

for (const [question, wanted] of [
  ["quotas", "security#quotas"],
  ["idempotency key", "streams#appending"],
  ["Metabase", "quickstart-sql#metabase"],
  ["no-such-word-anywhere", undefined],
  ["", undefined],
  ["***", undefined],
] as const) {
  test(`a search for ${JSON.stringify(question)} leads to ${wanted}`, () => {
    assert.equal(first(question), wanted);
  });
}

test("an excerpt has what was asked for, and the whole list is bounded", () => {
  const found = searchGuides(guides, "stream");
  assert.equal(found.length, 30);
  for (const { excerpt, section } of found) {
    assert.ok(excerpt.length < 220);
    assert.match(`${section.heading} ${excerpt}`, /stream/i);
  }
});

test("every page is in one group, and every name of a group is a page", () => {
  const named = guideGroups.flatMap(({ pages }) => pages);
  assert.deepEqual([...named].sort(), guides.map(({ name }) => name).sort());
  assert.deepEqual(
    guides.map(({ name }) => name),
    named,
  );
});
