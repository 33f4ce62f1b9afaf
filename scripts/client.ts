/**
 * Makes the package `@native-engine/client` in `build/client/`: JavaScript in one file, one each for LangChain and React, types, a
 * manifest. Node runs TypeScript only outside of `node_modules`, so what other programs install has to be JavaScript.
 *
 *   node scripts/client.ts   scripts/setup.sh runs it when a source is newer than the build, and `npm pack` always
 *   npm pack ./build/client  packs it
 *
 * Types need the compiler, which a production install leaves out: the build is then without them.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "build/client");
const program = "index.js";
const compiler = join(root, "node_modules/.bin/tsc");
const sources = [
  "./src/client/index.ts",
  "./src/live/index.ts",
  "./clients/langchain/index.ts",
  "./clients/react/index.ts",
];

/** What imports the client takes the file beside it: a copy of its own would have errors of another class. */
const besideClient: Plugin = {
  name: "beside the client",
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/src\/client\/index\.ts$/ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: `./${program}`, external: true },
    );
  },
};

async function bundle(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: {
      index: "./src/client/index.ts",
      live: "./src/live/index.ts",
      langchain: "./clients/langchain/index.ts",
      react: "./clients/react/index.ts",
    },
    outdir: folder,
    bundle: true,
    plugins: [besideClient],
    external: ["@langchain/core", "react"],
    minify: true,
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
    outDir: join(folder, "types"),
    rootDir: ".",
    target: "es2022",
    lib: "esnext",
    types: "node",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  execFileSync(compiler, ["--ignoreConfig", ...flags, ...sources], {
    cwd: root,
    stdio: "inherit",
  });
  for (const file of globSync("types/**/*.d.ts", { cwd: folder })) {
    const path = join(folder, file);
    const own = ["langchain", "src/live", "clients/react"].find((each) => file.includes(each));
    const name = own === undefined ? basename(file) : `${basename(own)}.d.ts`;
    // A program that installs this must not need a setting for the endings of our imports.
    const text = readFileSync(path, "utf8")
      .replaceAll('"../../src/client/', '"./')
      .replaceAll(/"(\.\.?\/[^"]+)\.ts"/g, '"$1.js"');
    writeFileSync(
      join(folder, name),
      text.replaceAll(/^( {4})+/gm, (indent) => "\t".repeat(indent.length / 4)),
    );
  }
  rmSync(join(folder, "types"), { recursive: true });
}

/** The version is the project's own: server and clients are released together. */
function describe(folder: string): void {
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "@native-engine/client",
    version,
    description: "Client of native-engine: durable streams, hybrid search and SQL",
    license,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { types: "./index.d.ts", default: "./index.js" },
      "./live": { types: "./live.d.ts", default: "./live.js" },
      "./langchain": { types: "./langchain.d.ts", default: "./langchain.js" },
      "./react": { types: "./react.d.ts", default: "./react.js" },
      "./package.json": "./package.json",
    },
    peerDependencies: { "@langchain/core": ">=0.3", react: ">=18" },
    peerDependenciesMeta: { "@langchain/core": { optional: true }, react: { optional: true } },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, "src/client/README.md"), join(folder, "README.md"));
}

// Made aside and moved file by file, the program last: two builds at once, or a reader meanwhile, see whole files.
mkdirSync(target, { recursive: true });
const made = mkdtempSync(`${target}-`);
try {
  if (existsSync(compiler)) declare(made);
  await bundle(made);
  describe(made);
  const files = globSync("*", { cwd: made }).sort(programLast);
  for (const file of files) renameSync(join(made, file), join(target, file));
  for (const file of globSync("*", { cwd: target })) if (!files.includes(file)) rmSync(join(target, file));
} finally {
  rmSync(made, { recursive: true, force: true });
}

/** The program's time tells whether the build is newer than its sources. */
function programLast(a: string, b: string): number {
  return Number(a === program) - Number(b === program);
}
