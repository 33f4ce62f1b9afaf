/**
 * Bundles the console into `build/console/`, with names that change with the content and packed forms beside them.
 *
 *   node scripts/console.ts           scripts/setup.sh runs it when a source is newer than the bundle
 *   node scripts/console.ts --watch   again at every change
 *
 * Files are written under their new names first and the page that names them last, so that two builds at once, or a
 * server that reads meanwhile, never see half a bundle.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src/console");
const target = join(root, "build/console");
const publicPath = "/console/";
const packedFromBytes = 512;

async function bundle(): Promise<void> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: ["src/console/main.tsx", "src/console/theme-first.ts", "src/console/icon.svg"],
    outdir: target,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    splitting: true,
    minify: true,
    target: "es2022",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    publicPath,
    legalComments: "none",
    logLevel: "error",
  });
  mkdirSync(target, { recursive: true });
  const page = fillPage(readFileSync(join(source, "index.html"), "utf8"), result.metafile);
  const files = new Map(result.outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  files.set("index.html", Buffer.from(page));
  const written = new Set<string>();
  for (const [name, bytes] of files) {
    for (const [suffix, content] of formsOf(bytes)) {
      written.add(name + suffix);
      put(name + suffix, content);
    }
  }
  for (const name of readdirSync(target)) if (!written.has(name)) rmSync(join(target, name), { force: true });
}

/** As it is, and packed where that is worth it. */
function formsOf(bytes: Buffer): [suffix: string, content: Buffer][] {
  if (bytes.length < packedFromBytes) return [["", bytes]];
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  return [
    [".br", brotliCompressSync(bytes, quality)],
    [".gz", gzipSync(bytes, { level: 9 })],
    ["", bytes],
  ];
}

/** A file appears whole or not at all. */
function put(name: string, content: Buffer): void {
  const part = join(target, `.${name}.${process.pid}`);
  writeFileSync(part, content);
  renameSync(part, join(target, name));
}

/** Puts the names of this build in place of `{{main.js}}` and the like. */
function fillPage(template: string, { outputs }: Metafile): string {
  const names = Object.entries(outputs).flatMap(([path, { entryPoint }]) => {
    const name = basename(path);
    const known = /^(main|theme-first|icon)-[A-Z0-9]{8}\.(js|css|svg)$/.exec(name);
    return known !== null && (entryPoint !== undefined || known[2] !== "js")
      ? [[`${known[1]}.${known[2]}`, publicPath + name] as const]
      : [];
  });
  const known = new Map<string, string>(names);
  return template.replace(/\{\{([\w.-]+)\}\}/g, (_all, name: string) => {
    const found = known.get(name);
    if (found === undefined) throw new Error(`index.html names ${name}, which the build did not make`);
    return found;
  });
}

await bundle();
if (process.argv.includes("--watch")) {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  watch(source, { recursive: true }, () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => bundle().then(() => console.error("console: built"), console.error), 50);
  });
}
