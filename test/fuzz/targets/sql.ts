import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lexMysql, splitMysql } from "../../../src/edge/mysql/dialect/lexer.ts";
import { rewriteMysql } from "../../../src/edge/mysql/dialect/rewrite.ts";
import { splitStatements, tokenize as tokenizePostgres } from "../../../src/edge/postgres/dialect/lexer.ts";
import { postgresEdits, UnknownSetting } from "../../../src/edge/postgres/dialect/rewrite.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { EngineError } from "../../../src/engine/errors.ts";
import { parseSchema } from "../../../src/engine/schema/schema-parse.ts";
import type { DialectName } from "../../../src/engine/sql/dialect.ts";
import { tokenize } from "../../../src/engine/sql/service/plan/lexer.ts";
import { startMemoryEngine, unsealed } from "../../support/memory-engine.ts";
import { itemSchema, items } from "../../support/sql-dataset.ts";
import { Finding, must, type Target } from "../target.ts";
import { checkRefusal, refusing } from "./properties.ts";

const session = {
  namespace: "n",
  user: "u",
  process: 1,
  version: "PostgreSQL 16",
  namespaces: () => ["n"],
  settings: () => [["search_path", "collections"]] as const,
  setting: (name: string) => (name === "search_path" ? "collections" : undefined),
  configure: (_name: string, value: string) => value,
  prepared: () => [],
  searchPath: () => ["collections"],
  schemaOf: (table: string) => (table === "orders" ? "streams" : undefined),
};

const mysqlContext = {
  database: "n",
  variable: (name: string) => `'${name.replaceAll("'", "''")}'`,
  userVariable: () => "NULL",
  sessionFunction: () => undefined,
  informationTable: () => undefined,
};

/** Tokens lie one after another, each where it says. */
function checkPlaces(tokens: readonly { readonly start: number; readonly end: number }[], text: string): void {
  let at = 0;
  for (const { start, end } of tokens) {
    must(start >= at && end > start && end <= text.length, "tokens that overlap", () => [start, end, at]);
    at = end;
  }
}

function postgresText(text: string): string[] {
  checkPlaces(tokenizePostgres(text), text);
  return splitStatements(text).flatMap((statement) => {
    checkPlaces(statement.tokens, statement.text);
    try {
      const edits = [...postgresEdits(statement, session)].sort((x, y) => x.start - y.start);
      let at = 0;
      let edited = "";
      for (const edit of edits) {
        must(edit.start >= at && edit.end >= edit.start, "edits that overlap", () => edits);
        edited += statement.text.slice(at, edit.start) + edit.text;
        at = edit.end;
      }
      return [edited + statement.text.slice(at)];
    } catch (error) {
      if (!(error instanceof UnknownSetting)) checkRefusal(error, ["invalid_argument", "not_implemented"]);
      return [];
    }
  });
}

function mysqlText(text: string): string[] {
  const modes = { ansiQuotes: text.length % 3 === 0, noBackslashEscapes: text.length % 5 === 0 };
  const tokens = refusing(() => lexMysql(text, modes), "invalid_argument");
  if (tokens === undefined) return [];
  return splitMysql(tokens).flatMap((each) => {
    const made = refusing(() => rewriteMysql(text, each, mysqlContext), "invalid_argument", "not_implemented");
    return made === undefined ? [] : [made.query];
  });
}

/** Reasons with which a statement may fail. */
const told = ["invalid_argument", "not_found", "unavailable", "resource_exhausted", "deadline_exceeded"] as const;
const canary = "canary-7f3a";
const rowsMax = 2_000;

class Statements {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async run(query: string, dialect: DialectName | undefined): Promise<void> {
    try {
      const statement = { namespace: "n", query, params: [{ value: 1 }, { value: "x" }], token: [] };
      await using result = await this.#engine.sql.run({
        ...statement,
        consistency: "strong",
        ...(dialect === undefined ? {} : { dialect }),
      });
      let rows = 0;
      for (let batch = await result.next(); batch !== undefined && rows < rowsMax; batch = await result.next()) {
        rows += batch.rows;
        const text = JSON.stringify(batch, (_key, value: unknown) => shownValue(value));
        must(!text.includes(canary), "a statement has read a file", () => query);
      }
    } catch (error) {
      if (error instanceof Finding) throw error;
      checkRefusal(error, told);
      must(!(error as EngineError).message.includes(canary), "an error tells what a file holds", () => query);
    }
  }
}

function shownValue(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1")
    : value;
}

function statementsOf(file: string): string[] {
  const text = readFileSync(new URL(`../../sql/${file}`, import.meta.url), "utf8");
  if (file.endsWith(".txt")) return text.split("\n").filter((each) => each !== "" && !each.startsWith("#"));
  return [...text.matchAll(/^query \w+.*\n([\s\S]*?)\n----/gm)].map(([, statement]) => statement!);
}

/** Every eighth, so that the first corpus is run in a moment. */
function sample(list: readonly string[], every: number): string[] {
  return list.filter((_, i) => i % every === 0);
}

async function fill(engine: Engine): Promise<void> {
  await engine.metastore.createNamespace("n");
  await engine.collections.create("n", "items", parseSchema(itemSchema));
  const ops = items.slice(0, 12).map(({ id, source, vectors }) => ({
    kind: "upsert" as const,
    id,
    source: { ...source },
    vectors: { v: Float32Array.from(vectors.v) },
    sparseVectors: undefined,
    condition: undefined,
    ifVersion: undefined,
  }));
  await engine.documents.write({ namespace: "n", collection: "items" }, ops, 10_000);
  await engine.streams.create({ namespace: "n", stream: "events" }, 2, undefined);
  const records = [{ key: Buffer.from("k"), value: Buffer.from('{"n":1}') }];
  await engine.streams.append({ namespace: "n", stream: "events", partition: 0, records });
}

/** A statement is run or refused, in every dialect, and reaches nothing that it must not. */
export const sql: Target = {
  name: "sql",
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), "native-engine-fuzz-"));
    writeFileSync(join(folder, "canary.csv"), `a,b\n${canary},1\n`);
    const engine = await startMemoryEngine(unsealed);
    await fill(engine);
    const statements = new Statements(engine);
    const path = join(folder, "canary.csv");
    return {
      inputs: {
        kind: "guided",
        seeds: [
          ...["select", "aggregate", "join", "retrieve", "stream", "catalog", "error"].flatMap((name) =>
            sample(statementsOf(`${name}.slt`), 8),
          ),
          ...sample(statementsOf("forbidden.txt"), 4),
          `select * from read_csv('${path}')`,
          `select * from '${path}'`,
          `select content from read_text('${path}')`,
        ].map((statement) => `\u0000${statement}`),
        words: [...keywords, path, `'${path}'`, `"${path}"`],
        bytesMax: 800,
        sources: ["src/engine/sql/", "src/edge/postgres/dialect/", "src/edge/mysql/dialect/"],
      },
      run: async (input) => {
        const text = input.toString("utf8", 1);
        const which = (input[0] ?? 0) % 3;
        refusing(() => checkPlaces(tokenize(text), text), "invalid_argument");
        const postgres = postgresText(text);
        const mysql = mysqlText(text);
        if (which === 0) await statements.run(text, undefined);
        else if (which === 1) for (const each of postgres.slice(0, 2)) await statements.run(each, "postgres");
        else for (const each of mysql.slice(0, 2)) await statements.run(each, "mysql");
      },
      [Symbol.asyncDispose]: async () => {
        await engine.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

const keywords = [
  ...["select ", " from ", " where ", "items", "streams.events", "collections.items", "with x as (", "union all "],
  ...["text_search(items, 'red', note, 3)", "vector_search(items, [1,2], v, 3)", "rrf(", "k => 5", "limit ", "offset "],
  ...["read_csv(", "glob(", "pg_catalog.pg_class", "information_schema.tables", "explain analyze ", "describe ", "$1"],
  ...[
    "::int",
    "::json",
    "'",
    '"',
    "`",
    "--",
    "/*",
    "*/",
    ";",
    "$$",
    "E'\\",
    "cast(",
    " over (",
    "getenv(",
    "copy ",
    "?",
  ],
];
