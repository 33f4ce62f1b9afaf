/**
 * Builds `native-engine/client` into `build/client/`: one file of JavaScript, and its types. Node runs TypeScript only
 * outside of `node_modules`, so what other programs install has to be JavaScript.
 *
 *   node scripts/client.ts   scripts/setup.sh runs it when a source is newer than the build, and `npm pack` always
 *
 * Types need the compiler, which a production install leaves out: the build is then without them.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "build/client");
const program = "index.js";
const compiler = join(root, "node_modules/.bin/tsc");

async function bundle(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/index.ts"],
    outfile: join(folder, program),
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    charset: "utf8",
    logLevel: "error",
  });
}

function declare(folder: string): void {
  const options = {
    declaration: true,
    emitDeclarationOnly: true,
    outDir: folder,
    rootDir: "src/client",
    target: "es2022",
    lib: "esnext",
    types: "node",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  execFileSync(compiler, ["--ignoreConfig", ...flags, "src/client/index.ts"], { cwd: root, stdio: "inherit" });
  for (const file of globSync("*.d.ts", { cwd: folder })) {
    const path = join(folder, file);
    // A program that installs this must not need a setting for the endings of our imports.
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/"(\.\.?\/[^"]+)\.ts"/g, '"$1.js"'));
  }
}

// Made aside and moved file by file, the program last: two builds at once, or a reader meanwhile, see whole files.
mkdirSync(target, { recursive: true });
const made = mkdtempSync(`${target}-`);
try {
  if (existsSync(compiler)) declare(made);
  await bundle(made);
  for (const file of globSync("*", { cwd: made }).sort(programLast)) renameSync(join(made, file), join(target, file));
} finally {
  rmSync(made, { recursive: true, force: true });
}

/** The program's time tells whether the build is newer than its sources. */
function programLast(a: string, b: string): number {
  return Number(a === program) - Number(b === program);
}
