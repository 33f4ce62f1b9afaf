/**
 * Makes `lib/`: the server and the command line as JavaScript, file by file, for the package that people install.
 * Node runs no TypeScript under `node_modules`.
 *
 *   node scripts/server.ts   `npm pack` runs it
 *
 * The folder lies as deep as `src`, so that what a file names by its own place (the console, the docs, a worker) is found
 * from both.
 */
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");
const target = join(root, "lib");

/**
 * The binding's own JavaScript comes along as one file. Its package would bring two optional ones of 500 MB for embeddings
 * that the server does not make, and only the project that is installed itself can leave those out.
 */
const lance = { name: "@lancedb/lancedb", file: "lancedb.cjs", folder: "adapter/lance" };

async function bundleLance(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    stdin: { contents: `module.exports = require("${lance.name}")`, resolveDir: root },
    outfile: join(folder, lance.folder, lance.file),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node24",
    external: [
      "apache-arrow",
      "reflect-metadata",
      "@lancedb/lancedb-*",
      "openai",
      "@huggingface/transformers",
      "*.node",
    ],
    logLevel: "error",
  });
}

/** What Node itself makes of the file, line by line; its imports, and other files that it names, end in `.js`. */
function translate(file: string, folder: string): void {
  const named = stripTypeScriptTypes(readFileSync(join(source, file), "utf8"))
    .replaceAll(/"(\.\.?\/[^"\n]+)\.ts"/g, '"$1.js"')
    .replaceAll(`"${lance.name}"`, dirname(file) === lance.folder ? `"./${lance.file}"` : `"${lance.name}"`);
  const path = join(folder, file.replace(/\.ts$/, ".js"));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, named);
}

const made = `${target}-${process.pid}`;
rmSync(made, { recursive: true, force: true });
try {
  const files = globSync("**/*.ts", { cwd: source, exclude: ["console/**", "**/*.test.ts", "**/*.d.ts"] });
  for (const file of files) translate(file, made);
  await bundleLance(made);
  rmSync(target, { recursive: true, force: true });
  renameSync(made, target);
} finally {
  rmSync(made, { recursive: true, force: true });
}
