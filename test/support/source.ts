import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface SourceFile {
  /** From the project's root. */
  readonly path: string;
  readonly text: string;
  /** Files of this project that it imports, from the root too; packages are left out. */
  readonly imports: readonly string[];
}

/** A worker's file is named by its URL. */
const importPattern = /(?:\bfrom\s+|\bimport\s+|\bimport\(|\bnew URL\((?="[^"]+\.ts"))\s*"(\.[^"]+)"/g;

export function sourceFiles(...globs: readonly string[]): SourceFile[] {
  return globSync(globs as string[], { cwd: root })
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), "utf8");
      const imports = Array.from(text.matchAll(importPattern), ([, to]) =>
        relative(root, join(root, dirname(path), to!)),
      );
      return { path, text, imports };
    });
}
