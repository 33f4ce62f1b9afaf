import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { type BuildFailure, build, type Plugin, stop } from "esbuild";
import { type Bundle, BundleFault, type Bundler, type SourceModule } from "../../port/bundler.ts";

const libraryName = "native-engine/live";
const entryName = "<all>";

/** esbuild works in a process of its own, and is given every file by name: it reads none of the machine. */
export class EsbuildBundler implements Bundler {
  readonly #library: string;

  /** `library` is the file that modules import as `native-engine/live`. */
  constructor(library: URL) {
    this.#library = readFileSync(library, "utf8");
  }

  async bundle(modules: readonly SourceModule[]): Promise<Bundle> {
    const byPath = new Map(modules.map((module) => [module.path, module]));
    const names = modules.map(({ path }, i) => `import * as m${i} from ${JSON.stringify(`./${path}`)};`);
    const pairs = modules.map(({ path }, i) => `${JSON.stringify(path)}: m${i}`);
    const entry = `${names.join("\n")}\nexport default { ${pairs.join(", ")} };`;
    try {
      const { outputFiles } = await build({
        stdin: { contents: entry, sourcefile: entryName, resolveDir: "/" },
        absWorkingDir: "/",
        bundle: true,
        define: { require: "undefined" },
        write: false,
        format: "iife",
        globalName: "exported",
        target: "es2023",
        charset: "utf8",
        sourcemap: "external",
        outfile: "/bundle.js",
        treeShaking: false,
        legalComments: "none",
        logLevel: "silent",
        plugins: [virtualFiles(byPath, this.#library)],
      });
      const textOf = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
      // On one line before the code, so that its lines keep their numbers but one.
      return { code: `() => {\n${textOf(".js")}\nreturn exported.default; }`, map: textOf(".map") };
    } catch (error) {
      throw faultOf(error);
    }
  }

  async close(): Promise<void> {
    await stop();
  }
}

function virtualFiles(modules: ReadonlyMap<string, SourceModule>, librarySource: string): Plugin {
  return {
    name: "virtual",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, importer, namespace, kind }) => {
        if (path === libraryName) return { path, namespace: "library" };
        if (kind === "dynamic-import") return { errors: [{ text: "import() is not possible in functions" }] };
        const from = namespace === "module" ? posix.dirname(importer) : ".";
        const wanted = withoutEnding(posix.normalize(posix.join(from, path)));
        if (/^\.{0,2}\//.test(path) || path.startsWith(".")) {
          if (modules.has(wanted)) return { path: wanted, namespace: "module" };
        }
        return {
          errors: [{ text: `there is no module ${JSON.stringify(path)}; bundle what a function needs with it` }],
        };
      });
      onLoad({ filter: /.*/, namespace: "library" }, () => ({ contents: librarySource, loader: "ts" }));
      onLoad({ filter: /.*/, namespace: "module" }, ({ path }) => {
        const { source, sourceMap } = modules.get(path)!;
        return { contents: sourceMap === "" ? source : `${source}\n${mapComment(sourceMap)}`, loader: "js" };
      });
    },
  };
}

function mapComment(map: string): string {
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
}

export function withoutEnding(path: string): string {
  return path.replace(/^\.\//, "").replace(/\.[cm]?[jt]sx?$/, "");
}

function faultOf(error: unknown): unknown {
  const [first] = (error as Partial<BuildFailure>).errors ?? [];
  if (first === undefined) return error;
  const file = first.location?.file.replace(/^module:/, "") ?? "";
  const where = first.location === null ? "" : `:${first.location.line}:${first.location.column}`;
  return new BundleFault(file === entryName ? "" : file, `${where === "" ? "" : `${file}${where}: `}${first.text}`);
}
