/**
 * Makes everything that a release has in `build/packages/`: the packages for npm, the Python wheel where there is a Python, the list of
 * what the server brings along (SBOM, CycloneDX) as it was really installed, and the notes from the changelog.
 *
 *   npm run packages
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "build/packages");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

function run(command: string, args: readonly string[], cwd = root): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** The packed file's path. */
function pack(folder: string): string {
  const said = run("npm", ["pack", "--silent", "--pack-destination", target], folder).trim();
  return join(target, said.split("\n").at(-1)!);
}

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
}

/** Of the package in an empty folder, since the project's own folder has what development needs, too. */
function bill(archive: string): string {
  const folder = mkdtempSync(join(tmpdir(), "native-engine-sbom-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "native-engine-installed", version }));
    run("npm", ["install", "--silent", "--no-audit", "--no-fund", archive], folder);
    const made = JSON.parse(run("npm", ["sbom", "--sbom-format=cyclonedx"], folder)) as { components: Component[] };
    const names = made.components.map(({ name }) => name);
    if (!names.some((name) => name.includes("lancedb-"))) throw new Error("the list lacks the native parts");
    // Where it was installed from is a file of this machine.
    return JSON.stringify(made, undefined, 2).replaceAll(/"file:[^"]*"/g, `"native-engine-${version}.tgz"`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The section at the top of the changelog. */
function notes(): string {
  const [, section = ""] = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## .*$/m);
  return `# native-engine ${version}\n${section.trimEnd()}\n`;
}

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const server = pack(root);
pack(join(root, "build/client"));
writeFileSync(join(target, `native-engine-${version}.cdx.json`), `${bill(server)}\n`);
writeFileSync(join(target, "NOTES.md"), notes());
try {
  run("python3", ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", target, "./clients/python"]);
} catch {
  process.stderr.write("packages: no Python with pip here, so no wheel\n");
}
process.stdout.write(run("ls", ["-l", target]));
