import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { firstWords } from "../../src/cli/help.ts";
import { loadConfig, settingsTable } from "../../src/composition/config/config.ts";
import { blocksOf, DocsRun, titleOf } from "../support/docs.ts";
import { type Embeddings, startEmbeddings } from "../support/embeddings.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { root, sourceFiles } from "../support/source.ts";

/** In this order, on one server: the readme's tour makes what the others go on from. */
const afterTheTour = [
  "README.md",
  "docs/streams.md",
  "docs/events-and-links.md",
  "docs/collections.md",
  "docs/query.md",
  "docs/sql.md",
  "docs/postgres.md",
  "docs/mysql.md",
  "docs/flight-sql.md",
  "docs/lance.md",
  "docs/rpc.md",
  "docs/migration.md",
  "docs/python.md",
  "docs/quickstart-search.md",
  "docs/quickstart-events.md",
  "docs/quickstart-sql.md",
];
const withKeys = ["docs/security.md"];
/** Run by `cli-docs.test.ts` and `live-docs.test.ts`. */
const onTheirOwn = [
  "docs/cli.md",
  "docs/client.md",
  "docs/live.md",
  "docs/operations.md",
  "docs/quickstart-operate.md",
];

let folder: string;
let server: ServerProcess;
let run: DocsRun;
let embeddings: Embeddings;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start({ env: { SERVICE_RUN_MODE: "development" } });
  embeddings = await startEmbeddings();
  run = await DocsRun.open(server, folder, { EMBEDDINGS_URL: embeddings.url });
});
after(async () => {
  embeddings?.close();
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

for (const page of afterTheTour) {
  test(`every command of ${page} works and answers what it shows`, { timeout: 300_000 }, async (t) => {
    let lacks: string | undefined;
    for (const block of await blocksOf(page)) {
      // That is what starts the server.
      if (block.text === "npm start\n") continue;
      if (block.language === "json") {
        await t.test(`${titleOf(block)} is a configuration`, () => isConfiguration(block.text));
        continue;
      }
      // A block builds on those before it, but on a page of the reference each stands for itself.
      lacks = (await run.missing(block)) ?? (page.includes("quickstart") ? lacks : undefined);
      await t.test(titleOf(block), { skip: lacks ?? false }, async () => {
        const { stdout } = await run.run(block);
        assert.notEqual(stdout, "");
      });
    }
  });
}

async function isConfiguration(text: string): Promise<void> {
  const file = join(folder, "engine.json");
  await writeFile(file, text);
  assert.doesNotThrow(() => loadConfig({ argv: ["--config", file], env: {} }));
}

for (const page of withKeys) {
  test(`every command of ${page} works where keys are needed`, { timeout: 300_000 }, async (t) => {
    await using guarded = await ServerProcess.start({ env: { SERVICE_AUTH_MODE: "apikey" } });
    const own = await DocsRun.open(guarded, join(folder, "guarded"));
    for (const block of await blocksOf(page)) {
      await t.test(titleOf(block), async () => {
        await own.run(block);
      });
    }
  });
}

const sources = sourceFiles("src/**/*.ts")
  .map(({ text }) => text)
  .join("\n");
const settingNames = new Set(settingsTable().map(({ env }) => env));
const pages = ["README.md", ...globSync("docs/*.md", { cwd: root }).sort()];

test("no page with a command is left out", async () => {
  const known = [...afterTheTour, ...withKeys, ...onTheirOwn].sort();
  const found = await Promise.all(pages.map(async (page) => ((await blocksOf(page)).length > 0 ? [page] : [])));
  assert.deepEqual(found.flat().sort(), known);
});

for (const page of pages) {
  test(`${page} is for people who use the service: sources are for ARCHITECTURE.md and CONTRIBUTING.md`, async () => {
    const text = await readFile(join(root, page), "utf8");
    assert.doesNotMatch(text, /`(?:src|test)\//);
  });
}

/** What a page names in passing, between backquotes or as a link, exists. */
for (const page of pages) {
  test(`${page} names commands, settings and files that there are`, async () => {
    const text = await readFile(join(root, page), "utf8");
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    for (const [, script, open] of text.matchAll(/npm run ([\w:-]+)(…?)/g)) {
      // `test:…` stands for all of them.
      const isThere = open === "" ? script! in scripts : Object.keys(scripts).some((name) => name.startsWith(script!));
      assert.ok(isThere, `npm run ${script}`);
    }
    const words = new Set(firstWords);
    for (const [, command] of text.matchAll(/`(?:bin\/)?native-engine ([a-z][\w-]*)/g)) {
      assert.ok(words.has(command!), `native-engine ${command}`);
    }
    for (const [name] of text.matchAll(/\bSERVICE_[A-Z_]*[A-Z]\b/g)) {
      const isSet = settingNames.has(name) || sources.includes(name) || sources.includes(name.replace(/_FILE$/, ""));
      assert.ok(isSet, name);
    }
    for (const [, to] of text.matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)) {
      const from = page.includes("/") ? join(root, "docs") : root;
      assert.ok(globSync(to!, { cwd: from }).length === 1, `the link to ${to}`);
    }
    for (const [, path] of text.matchAll(/`((?:src|test|scripts|deploy|proto|bench)\/[\w./-]+)`/g)) {
      assert.ok(globSync(path!.replace(/\/$/, ""), { cwd: root }).length === 1, path);
    }
  });
}
