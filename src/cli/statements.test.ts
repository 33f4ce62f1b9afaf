import assert from "node:assert/strict";
import { test } from "node:test";
import { StatementReader } from "./statements.ts";

for (const [lines, statements, rest] of [
  [["select 1;"], ["select 1"], ""],
  [["select 1; select 2;"], ["select 1", "select 2"], ""],
  [["select", "1", ";"], ["select\n1"], ""],
  [["select ';' as a;"], ["select ';' as a"], ""],
  [["select 'it''s; fine';"], ["select 'it''s; fine'"], ""],
  [["select 'two", "lines;';"], ["select 'two\nlines;'"], ""],
  [['select "a;b" from t;'], ['select "a;b" from t'], ""],
  [["select 1 -- not; yet", ";"], ["select 1 -- not; yet"], ""],
  [["select /* a; b", "; */ 1;"], ["select /* a; b\n; */ 1"], ""],
  [["select $$a;b$$, $x$;$$;$x$;"], ["select $$a;b$$, $x$;$$;$x$"], ""],
  [[";", " ; "], [], ""],
  [["select 1; sel", "ect"], ["select 1"], "sel\nect"],
  [["select 'open;"], [], "select 'open;"],
] as const) {
  test(`lines ${JSON.stringify(lines)}`, () => {
    const reader = new StatementReader();
    assert.deepEqual(
      lines.flatMap((line) => reader.add(line)),
      statements,
    );
    assert.equal(reader.isOpen, rest !== "");
    assert.equal(reader.rest(), rest);
    assert.equal(reader.isOpen, false);
  });
}

test("a statement that was given up leaves nothing behind", () => {
  const reader = new StatementReader();
  reader.add("select 'open");
  reader.clear();
  assert.deepEqual(reader.add("select 1;"), ["select 1"]);
});
