import assert from "node:assert/strict";

/**
 * The form of SQLite's sqllogictest: records apart by empty lines, each a `statement ok`, a `statement error PATTERN` or
 * a `query TYPES [rowsort|valuesort] [label]` with the values it gives after `----`, one a line, row by row.
 * Types: I integer, R real (to three digits), T text, B boolean, D date or time in UTC. `skipif WIRE REASON` before a
 * record leaves it out on that wire.
 */
export interface LogicCase {
  readonly line: number;
  /** Wires that it is left out on, with the reason. */
  readonly skips: ReadonlyMap<string, string>;
  readonly sql: string;
  readonly want:
    | { readonly kind: "ok" }
    | { readonly kind: "error"; readonly pattern: RegExp }
    | {
        readonly kind: "rows";
        readonly types: string;
        readonly sort: string;
        readonly label: string;
        readonly values: readonly string[];
      };
}

/** Runs one statement; its rows as texts, null for NULL. A statement that fails rejects. */
export type RunSql = (sql: string) => Promise<readonly (readonly (string | null)[])[]>;

export interface LogicWire {
  readonly run: RunSql;
  /** Runs what must fail, where the wire's client does not tell why. */
  readonly fail?: RunSql;
}

export function parseLogic(text: string): LogicCase[] {
  const cases: LogicCase[] = [];
  const lines = text.split("\n");
  let skips = new Map<string, string>();
  for (let at = 0; at < lines.length; at++) {
    const head = lines[at]!.trim();
    if (head === "" || head.startsWith("#")) continue;
    const line = at + 1;
    const [, wire, reason] = /^skipif (\S+) (.+)$/.exec(head) ?? [];
    if (wire !== undefined) {
      skips.set(wire, reason!);
      continue;
    }
    const end = lines.indexOf("", at);
    const body = lines.slice(at + 1, end === -1 ? lines.length : end);
    at += body.length;
    cases.push({ line, skips, ...parseCase(line, head, body) });
    skips = new Map();
  }
  return cases;
}

function parseCase(line: number, head: string, body: readonly string[]): Pick<LogicCase, "sql" | "want"> {
  const [word, first = "", ...rest] = head.split(/\s+/);
  if (word === "statement") {
    const sql = body.join("\n");
    if (first === "ok") return { sql, want: { kind: "ok" } };
    assert.equal(first, "error", `line ${line}: ${head}`);
    return { sql, want: { kind: "error", pattern: new RegExp(rest.join(" "), "i") } };
  }
  assert.equal(word, "query", `line ${line}: ${head}`);
  assert.match(first, /^[IRTBD]+$/, `line ${line}`);
  const split = body.indexOf("----");
  assert.notEqual(split, -1, `line ${line} lacks ----`);
  const [sort = "nosort", label = ""] = rest;
  const values = body.slice(split + 1);
  return { sql: body.slice(0, split).join("\n"), want: { kind: "rows", types: first, sort, label, values } };
}

/** A value as the files write it. */
export function logicValue(type: string, value: string | null): string {
  if (value === null) return "NULL";
  switch (type) {
    case "I":
      return String(BigInt(value.replace(/\.0+$/, "")));
    case "R":
      return Number(value).toFixed(3);
    case "B":
      return /^(?:t|true|1)$/i.test(value) ? "true" : "false";
    case "D":
      return value
        .replace("T", " ")
        .replace(/(?:Z|\+00(?::?00)?)$/, "")
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "");
    default:
      return value === "" ? "(empty)" : value.replaceAll("\n", "\\n");
  }
}

/** Runs a case and checks what it gives. `labels` holds the results that must be the same. */
export async function checkCase(
  { run, fail = run }: LogicWire,
  each: LogicCase,
  labels: Map<string, string>,
): Promise<void> {
  const { want, sql, line } = each;
  if (want.kind === "error") {
    await assert.rejects(fail(sql), want.pattern, `line ${line}: ${sql}`);
    return;
  }
  const rows = await run(sql);
  if (want.kind === "ok") return;
  const found = logicRows(rows, want.types, want.sort);
  assert.deepEqual(found, want.values, `line ${line}: ${sql}`);
  if (want.label === "") return;
  const known = labels.get(want.label);
  if (known === undefined) labels.set(want.label, found.join("\n"));
  else assert.equal(found.join("\n"), known, `line ${line}: another result than the first of label ${want.label}`);
}

export function logicRows(rows: readonly (readonly (string | null)[])[], types: string, sort: string): string[] {
  const texts = rows.map((row) => {
    assert.equal(row.length, types.length, "as many columns as types");
    return row.map((value, i) => logicValue(types[i]!, value));
  });
  if (sort === "rowsort") texts.sort((a, b) => compare(a.join("\u0001"), b.join("\u0001")));
  const values = texts.flat();
  return sort === "valuesort" ? values.sort(compare) : values;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
