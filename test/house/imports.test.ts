import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { sourceFiles } from "../support/source.ts";

const sources = sourceFiles("src/**/*.{ts,tsx}");
const isTest = (path: string) => path.endsWith(".test.ts");
const program = sources.filter(({ path }) => !isTest(path));

/** The first folder below src; `main.ts` lies in none of them. */
function layerOf(path: string): string {
  const [, first, second] = path.split("/");
  return second === undefined ? "main" : first!;
}

/**
 * Imports go one way: composition → edge → engine → port ← adapter. The errors of the engine are everybody's words. The
 * listener hands requests to a function it is given, so it needs to know no edge.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  listener: ["listener"],
  edge: ["edge", "engine", "port", "gen", "listener"],
  engine: ["engine", "port"],
  port: ["port"],
  adapter: ["adapter", "port"],
  gen: ["gen"],
  // A program of its own, for browsers: it knows the server by the API alone.
  console: ["console"],
  // It goes to browsers: nothing of the server may come along.
  client: ["client"],
  // What live functions import, in a sandbox: nothing of the server may come along.
  live: ["live"],
  composition: ["composition", "live", "adapter", "edge", "engine", "listener", "port", "gen"],
  cli: ["cli", "client", "composition", "adapter", "edge", "engine", "port"],
  main: ["cli", "composition", "engine"],
};
/** How JSON is read without rounding, for both programs of browsers. */
const jsonOfBrowsers = "src/client/json.ts";
const wordsOfAll = ["src/engine/errors.ts", "src/engine/limits.ts"];

test("the import rule sees the imports", () => {
  assert.ok(sources.length > 40);
  const server = sources.find(({ path }) => path === "src/composition/server.ts");
  assert.ok(server?.imports.includes("src/engine/engine.ts"));
});

for (const { path, imports } of program) {
  test(`${path} imports only what its layer may`, () => {
    const layer = layerOf(path);
    assert.ok(layer in allowed, `src/${layer} is no layer; a new one gets its row in this test`);
    for (const to of imports) {
      assert.ok(to.startsWith("src/") || to === "package.json", `${to} is outside src`);
      if (wordsOfAll.includes(to)) continue;
      if (layer === "console" && to === jsonOfBrowsers) continue;
      assert.ok(allowed[layer]!.includes(layerOf(to)), `${layer} must not import ${to}`);
    }
  });
}

test("no file imports itself through others, for types neither", () => {
  // A command that is loaded when it is called may know the table of commands.
  const isStatic = (text: string, to: string) => text.includes(`/${basename(to)}";`);
  const importsOf = new Map(
    program.map(({ path, text, imports }) => [path, imports.filter((to) => isStatic(text, to))]),
  );
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    assert.ok(!way.includes(path), `a circle: ${[...way.slice(way.indexOf(path)), path].join(" → ")}`);
    if (done.has(path)) return;
    for (const to of importsOf.get(path) ?? []) visit(to, [...way, path]);
    done.add(path);
  };
  for (const path of importsOf.keys()) visit(path, []);
});

test("no folder of the engine imports itself through others", () => {
  const folderOf = (path: string) => (layerOf(path) === "engine" ? path.split("/").slice(2, -1)[0] : undefined);
  const importsOf = new Map<string, Set<string>>();
  for (const { path, imports } of program) {
    const from = folderOf(path);
    if (from === undefined) continue;
    const known = importsOf.get(from) ?? new Set();
    importsOf.set(from, known);
    for (const to of imports.map(folderOf)) if (to !== undefined && to !== from) known.add(to);
  }
  const done = new Set<string>();
  const visit = (folder: string, way: readonly string[]): void => {
    assert.ok(!way.includes(folder), `a circle: ${[...way.slice(way.indexOf(folder)), folder].join(" → ")}`);
    if (done.has(folder)) return;
    for (const to of importsOf.get(folder) ?? []) visit(to, [...way, folder]);
    done.add(folder);
  };
  for (const folder of importsOf.keys()) visit(folder, []);
});

/** What edges share: who is asking, and what every request of the port has, is settled in one place for all of them. */
const sharedEdges = ["auth", "front", "wire"];

test("an edge does not reach into another edge", () => {
  for (const { path, imports } of program) {
    if (layerOf(path) !== "edge") continue;
    const own = path.split("/")[2];
    for (const to of imports) {
      if (layerOf(to) !== "edge") continue;
      const other = to.split("/")[2]!;
      assert.ok(other === own || sharedEdges.includes(other), `${path} imports ${to}`);
    }
  }
});

test("adapters are constructed by the composition, the command line and tests only", () => {
  for (const { path, imports } of program) {
    if (["adapter", "composition", "cli"].includes(layerOf(path))) continue;
    for (const to of imports) assert.notEqual(layerOf(to), "adapter", `${path} imports ${to}`);
  }
});

test("an adapter knows no other technology's adapter", () => {
  for (const { path, imports } of program) {
    if (layerOf(path) !== "adapter") continue;
    for (const to of imports) {
      if (layerOf(to) === "adapter") assert.equal(to.split("/")[2], path.split("/")[2], `${path} imports ${to}`);
    }
  }
});

test("the engine and the ports know no wire", () => {
  const wire =
    /from "(?:node:(?:http|http2|https|net|tls)|fastify|@fastify\/|@connectrpc\/|@bufbuild\/|pino|prom-client)/;
  for (const { path, text } of program) {
    if (["engine", "port"].includes(layerOf(path))) assert.doesNotMatch(text, wire, path);
  }
});

test("the client runs in browsers: it imports no package and nothing of Node", () => {
  const files = program.filter(({ path }) => layerOf(path) === "client");
  assert.ok(files.length > 5);
  for (const { path, text } of files) {
    assert.doesNotMatch(text, /from "(?!\.)|\bBuffer\b|\bprocess\./, path);
  }
});

test("time and randomness are injected into the engine", () => {
  const direct = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\brandomBytes\b|\bsetTimeout\(/;
  for (const { path, text } of program) {
    if (layerOf(path) === "engine") assert.doesNotMatch(text, direct, path);
  }
});

/** Programs, which nobody imports. */
const entries = [
  "src/main.ts",
  "src/console/main.tsx",
  "src/composition/process/live-runner.ts",
  "src/live/index.ts",
  "src/console/theme-first.ts",
];

test("every import between files names its extension, and no file is imported by nobody", () => {
  const everywhere = sourceFiles("{src,test,bench,scripts}/**/*.{ts,tsx}");
  const imported = new Set(everywhere.flatMap(({ imports }) => imports));
  for (const { path, imports } of everywhere) {
    for (const to of imports) assert.match(to, /\.(?:tsx?|js|json|css)$/, `${path} imports ${to}`);
  }
  for (const { path } of program) {
    if (entries.includes(path) || path.endsWith(".d.ts") || path.startsWith("src/gen/")) continue;
    assert.ok(imported.has(path), `${path} is imported by nobody`);
  }
});

/** What a user of the packed server does not get: packages of development. The dataset's binding is packed along. */
const packedAlong = ["@lancedb/lancedb"];

test("the server imports only packages that come with it", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const known = new Set([...Object.keys(manifest.dependencies), ...packedAlong]);
  const imported = /(?:\bfrom |import\(|require\()"(?!node:|\.|#)((?:@[^/"]+\/)?[^/"]+)/g;
  let seen = 0;
  for (const { path, text } of program) {
    if (path.startsWith("src/console/")) continue;
    const types = /import type [^;]+;/g;
    for (const [, name] of text.replaceAll(types, "").matchAll(imported)) {
      seen++;
      assert.ok(known.has(name!), `${path} imports ${name}, which is no dependency`);
    }
  }
  assert.ok(seen > 50);
});
