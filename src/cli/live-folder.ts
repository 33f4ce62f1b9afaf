import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { type BuildFailure, build } from "esbuild";
import { CommandFailure, UsageError } from "./command.ts";

export interface BuiltModule {
  readonly path: string;
  readonly source: string;
  readonly sourceMap: string;
}

const generated = "_generated";
const ending = /\.[cm]?[jt]sx?$/;

/** The modules of a folder of functions, each with what it imports but the library that the server brings. */
export async function buildFolder(folder: string): Promise<BuiltModule[]> {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new UsageError(`${folder} is not a folder`);
  const files = modulesOf(folder);
  if (files.length === 0) throw new UsageError(`${folder} has no modules (.ts or .js)`);
  const root = resolve(folder);
  try {
    const { outputFiles } = await build({
      absWorkingDir: root,
      entryPoints: files,
      outdir: "out",
      outbase: root,
      bundle: true,
      write: false,
      format: "esm",
      target: "es2023",
      platform: "neutral",
      mainFields: ["module", "main"],
      external: ["native-engine/live"],
      sourcemap: "external",
      charset: "utf8",
      logLevel: "silent",
    });
    const out = join(root, "out");
    const texts = new Map(outputFiles.map(({ path, text }) => [relative(out, path).split(sep).join("/"), text]));
    return [...texts].flatMap(([path, source]) => {
      if (path.endsWith(".map")) return [];
      return [{ path: path.replace(/\.js$/, ""), source, sourceMap: texts.get(`${path}.map`) ?? "" }];
    });
  } catch (error) {
    const { errors } = error as Partial<BuildFailure>;
    if (errors === undefined) throw error;
    const messages = errors.map(({ text, location }) =>
      location === null ? text : `${location.file}:${location.line}:${location.column}: ${text}`,
    );
    throw new CommandFailure("invalid_argument", messages.join("\n"));
  }
}

function modulesOf(folder: string): string[] {
  const all = globSync("**/*.{ts,js,mts,mjs,tsx}", { cwd: folder, exclude: ["node_modules/**", `${generated}/**`] });
  return all.filter((file) => !/\.d\.[cm]?ts$|\.test\.[cm]?[jt]s$/.test(file)).sort();
}

/** Writes `_generated/api.ts`: the functions by module and name, with their types. */
export function writeApi(folder: string, functions: readonly { readonly name: string }[]): void {
  const files = modulesOf(folder);
  const byModule = new Map<string, string[]>();
  for (const { name } of functions) {
    const [module = "", own = ""] = name.split(":");
    byModule.set(module, [...(byModule.get(module) ?? []), own]);
  }
  const modules = [...byModule.keys()].sort();
  const fileOf = (module: string) => files.find((file) => file.replace(ending, "").split(sep).join("/") === module);
  const imports = modules.map((module, i) => `import type * as m${i} from ${JSON.stringify(`../${fileOf(module)}`)};`);
  const values = modules.map((module) => {
    const entries = byModule.get(module)!.map((own) => `    ${own}: ${JSON.stringify(`${module}:${own}`)},`);
    return `  ${JSON.stringify(module)}: {\n${entries.join("\n")}\n  },`;
  });
  const types = modules.map((module, i) => `${JSON.stringify(module)}: typeof m${i}`).join("; ");
  const text = [
    "// Written by `native-engine live`; changes here are lost.",
    'import type { ApiOf } from "native-engine/client";',
    ...imports,
    "",
    "export const api = {",
    ...values,
    `} as unknown as ApiOf<{ ${types} }>;`,
    "",
  ].join("\n");
  const path = join(folder, generated, "api.ts");
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(join(folder, generated), { recursive: true });
  writeFileSync(path, text);
}
