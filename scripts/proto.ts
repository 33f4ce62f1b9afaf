/**
 * Generates src/gen from proto/.
 *
 *   node scripts/proto.ts             generate
 *   node scripts/proto.ts --check     lint, compare src/gen with what would be generated, refuse breaking changes
 *   node scripts/proto.ts --baseline  accept the definitions of today as those that later ones must not break
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "node_modules", ".bin");
const baseline = join("proto", "baseline.binpb");

function buf(...args: string[]): void {
  execFileSync(join(bin, "buf"), args, {
    cwd: root,
    stdio: "inherit",
    // buf looks for the generator plugin on the path.
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` },
  });
}

function filesOf(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path), readFileSync(path, "utf8"));
  }
  return files;
}

function differences(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "native-engine-proto-"));
  try {
    buf("generate", "--output", folder);
    const wanted = filesOf(join(folder, "src", "gen"));
    const present = filesOf(join(root, "src", "gen"));
    const names = new Set([...wanted.keys(), ...present.keys()]);
    return [...names].filter((name) => wanted.get(name) !== present.get(name)).sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function main(mode: string | undefined): number {
  switch (mode) {
    case undefined:
      buf("generate");
      return 0;
    case "--baseline":
      buf("build", "--exclude-source-info", "--output", baseline);
      return 0;
    case "--check": {
      buf("lint");
      buf("breaking", "--against", baseline);
      const changed = differences();
      for (const name of changed) console.error(`src/gen/${name} is not what proto/ generates: run scripts/proto.ts`);
      return changed.length === 0 ? 0 : 1;
    }
    default:
      console.error(`unknown argument ${mode}`);
      return 2;
  }
}

try {
  process.exitCode = main(process.argv[2]);
} catch {
  // buf has said on its own what is wrong.
  process.exitCode = 1;
}
