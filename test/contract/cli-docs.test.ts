import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";

const run = promisify(execFile);
let server: ServerProcess;
let folder: string;
let env: NodeJS.ProcessEnv;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
  const command = join(folder, "native-engine");
  await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${root}/src/main.ts" "$@"\n`);
  await chmod(command, 0o755);
  env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, SERVICE_URL: server.url };
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function blocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(join(root, "docs", page), "utf8");
  const found = Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms")),
    ([, block]) => block!,
  );
  assert.ok(found.length > 0, page);
  return found;
}

for (const page of ["cli.md", "operations.md"]) {
  test(`every command of docs/${page} runs`, { timeout: 300_000 }, async () => {
    const work = join(folder, page);
    await mkdir(work);
    for (const block of await blocks(page, "sh")) {
      // A whole block as one script, which ends where a command fails.
      await run("bash", ["-c", `set -eo pipefail\n${block}`], { cwd: work, env }).catch((error: unknown) => {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        assert.fail(`${block}\n${stdout}\n${stderr}`);
      });
    }
  });
}

test("the program of docs/client.md runs and prints what it says", async () => {
  // In the project, where the package finds itself by its name.
  const work = join(root, "tmp");
  await mkdir(work, { recursive: true });
  const file = join(work, `docs-client-${process.pid}.ts`);
  try {
    const [program] = await blocks("client.md", "ts");
    await writeFile(file, program!);
    const { stdout } = await run(process.execPath, [file], { env });
    assert.match(stdout, /not_found 404/);
    assert.match(stdout, /1 The tide tables\n2 Tides and moons\n\[ \{ n: 1 \} \]\n2\n/);
  } finally {
    await rm(file, { force: true });
  }
});
