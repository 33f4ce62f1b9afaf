import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ask } from "./http.ts";
import { commandOf, type ServerProcess } from "./process.ts";
import { root } from "./source.ts";

/** One fenced block of a page; one that follows a command at once, without a word between them, is its answer. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly answer?: { readonly language: string; readonly text: string };
}

/** What a reader types in. */
const commandLanguages = ["sh", "sql", "python", "ts"];

export async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(join(root, page), "utf8");
  const blocks: Block[] = [];
  let end = -1;
  for (const match of text.matchAll(/^```(\w*)\n(.*?)^```\n/gms)) {
    const [whole, language, inner] = match as unknown as [string, string, string];
    const before = blocks.at(-1);
    const isAnswer = before?.answer === undefined && commandLanguages.includes(before?.language ?? "");
    if (isAnswer && match.index === end) blocks.splice(-1, 1, { ...before!, answer: { language, text: inner } });
    else blocks.push({ page, line: text.slice(0, match.index).split("\n").length, language, text: inner });
    end = match.index + whole.length;
  }
  return blocks;
}

/** A block by its place and first words, for the names of tests. */
export function titleOf({ page, line, text }: Block): string {
  return `${page}:${line} ${text.split("\n")[0]!.slice(0, 60)}`;
}

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** Where the blocks of one or more pages are run, one after another: a server, a folder to work in, the commands. */
export class DocsRun {
  readonly #server: ServerProcess;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(server: ServerProcess, folder: string, env: NodeJS.ProcessEnv) {
    this.#server = server;
    this.#folder = folder;
    this.#env = env;
  }

  static async open(
    server: ServerProcess,
    folder: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<DocsRun> {
    await mkdir(folder, { recursive: true });
    const command = join(folder, "native-engine");
    await writeFile(command, `#!/bin/sh\nexec "${commandOf().join('" "')}" "$@"\n`);
    await chmod(command, 0o755);
    const path = [folder, join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
    const service = { SERVICE_URL: server.url, SERVICE_DATA_DIR: server.dataDir, ...more };
    const env = { ...process.env, PATH: path, PYTHONPATH: join(root, "clients/python/src"), ...service };
    return new DocsRun(server, folder, env);
  }

  /** Why a block can't be run on this machine, if so. */
  async missing({ language, text }: Block): Promise<string | undefined> {
    if (language === "python") {
      const imports = text.matchAll(/^(?:import (.+?)(?: as \w+)?|from ([\w.]+) import .+)$/gm);
      const modules = Array.from(imports, ([, names, module]) => names ?? module!);
      const isThere = await this.#attempt("python3", ["-c", `import ${modules.join(", ")}`]);
      return isThere ? undefined : `python3 has not all of: ${modules.join(", ")}`;
    }
    if (language !== "sh") return undefined;
    const wanted = Array.from(text.matchAll(/^(?:\w+=\S+ )*([\w-]+)/gm), ([, program]) => program!);
    for (const program of ["psql", "mariadb", "buf", "jq"]) {
      if (!wanted.includes(program)) continue;
      if (!(await this.#attempt("sh", ["-c", `command -v ${program}`]))) return `${program} is not installed`;
    }
    return undefined;
  }

  /** Runs a block and compares what it shows with the answer that stands below it. */
  async run(block: Block): Promise<Output> {
    const output = await this.#execute(block);
    if (block.answer !== undefined) this.#compare(block, block.answer, output.stdout);
    return output;
  }

  async #execute(block: Block): Promise<Output> {
    const text = this.placed(block.text);
    switch (block.language) {
      case "sh":
        return await this.#command(block, "bash", [
          "-c",
          `${keptVariables}set -eo pipefail\n${withCurl(text)}\n${keepVariables}`,
        ]);
      case "python":
        return await this.#command(block, "python3", ["-c", text]);
      case "ts":
        return await this.#program(block, text);
      case "sql": {
        const { status, text: stdout } = await ask(`${this.#server.url}/v1/namespaces/shop/sql`, {
          body: { query: text },
        });
        assert.equal(status, 200, stdout);
        return { stdout, stderr: "" };
      }
      default:
        return assert.fail(`${titleOf(block)} is neither a command nor the answer of one`);
    }
  }

  /** The addresses of the page are those of a usual start; the server of the test is elsewhere. */
  placed(text: string): string {
    const { host } = new URL(this.#server.url);
    return text
      .replaceAll(/(?:localhost|127\.0\.0\.1):8080/g, host)
      .replaceAll(/(?:localhost|127\.0\.0\.1):7710/g, new URL(this.#server.live).host)
      .replaceAll("port=15432", `port=${this.#server.postgres.port}`)
      .replaceAll("-P 13306", `-P ${this.#server.mysql.port}`)
      .replaceAll("max_wait_ms=10000", "max_wait_ms=100")
      .replaceAll("npx buf", "buf")
      .replaceAll('"@native-engine/client/langchain"', `"${join(root, "build/client/langchain.js")}"`)
      .replaceAll('"@native-engine/client', '"native-engine/client');
  }

  async #command(block: Block, program: string, args: readonly string[]): Promise<Output> {
    const options = { cwd: this.#folder, env: this.#env, timeout: 300_000 };
    return await promisify(execFile)(program, args, options).catch((error: unknown) => {
      const failed = error as Output;
      return assert.fail(`${titleOf(block)}\n${block.text}\n${failed.stdout}\n${failed.stderr}`);
    });
  }

  /** In the project, where the package finds itself by its name. */
  async #program(block: Block, text: string): Promise<Output> {
    const built = join(root, "build/client/index.js");
    if (!existsSync(built)) await this.#command(block, process.execPath, [join(root, "scripts/client.ts")]);
    const work = join(root, "tmp", `docs-${process.pid}`);
    await mkdir(work, { recursive: true });
    try {
      const file = join(work, "program.ts");
      await writeFile(file, text);
      return await this.#command(block, process.execPath, [file]);
    } finally {
      await rm(work, { recursive: true });
    }
  }

  async #attempt(program: string, args: readonly string[]): Promise<boolean> {
    const done = promisify(execFile)(program, args, { env: this.#env });
    return await done.then(
      () => true,
      () => false,
    );
  }

  #compare(block: Block, shown: { readonly language: string; readonly text: string }, stdout: string): void {
    if (shown.language === "json") {
      // The last answer, on one line or on several.
      const last = stdout.slice(Math.max(stdout.lastIndexOf("\n["), stdout.lastIndexOf("\n{")) + 1);
      assert.deepEqual(masked(JSON.parse(last)), masked(JSON.parse(shown.text)), `${titleOf(block)}\n${last}`);
      return;
    }
    const got = stdout.split(/\r?\n/).map((line) => line.trimEnd());
    let at = 0;
    for (const line of shown.text.trimEnd().split("\n")) {
      at = got.indexOf(line.trimEnd(), at) + 1;
      assert.ok(at > 0, `${titleOf(block)} shows no line "${line}" (in this order):\n${stdout}`);
    }
  }
}

/** A reader's shell keeps what an earlier block has exported. */
const keptVariables = "[ ! -f .kept ] || . ./.kept\n";
const keepVariables = "declare -p SERVICE_API_KEY SERVICE_URL SERVICE_CA_FILE > .kept 2> /dev/null || true";

/** Each answer is a line of its own, a refusal is a failure, and a live tail, which has no end, ends after a second. */
function withCurl(text: string): string {
  return text
    .replaceAll("curl -N", "(timeout 1 curl -N")
    .replaceAll(/(\(timeout 1 curl -N(?:[^\n]*\\\n)*[^\n]*)/g, "$1 || [ $? = 124 ])")
    .replaceAll(/(?<!buf )\bcurl (?=-|localhost|'|http|\d)/g, "curl --fail-with-body --silent --show-error -w '\\n' ");
}

/** Numbers that depend on what was made before, and times: their kind is compared, not their value. */
const varying = new Set([
  ...[
    "id",
    "stream",
    "sequence",
    "timestamp_ms",
    "at",
    "created_at",
    "expires_at",
    "revoked_at",
    "_creationTime",
    "timestamp",
  ],
  ...["took_ms", "tookMs", "score", "_score", "bytes"],
]);

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [
    name,
    (varying.has(name) && typeof each !== "object") || isOpaque(name, each) ? typeof each : masked(each),
  ]);
  return Object.fromEntries(entries);
}

/** The ids of live documents, which are texts; those of a collection's are part of what is shown. */
function isOpaque(name: string, value: unknown): boolean {
  return name === "_id" && typeof value === "string";
}
