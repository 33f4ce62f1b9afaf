import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";

const run = promisify(execFile);
let folder: string;
let packed: string;
/** What somebody has after installing the package: the packed files below `node_modules`, and nothing of this project. */
before(async () => {
  folder = await temporaryFolder();
  await run(process.execPath, [join(root, "scripts/client.ts")]);
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: join(root, "build/client"),
  });
  packed = join(folder, stdout.trim());
  const installed = join(folder, "node_modules/@native-engine/client");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", packed, "-C", installed, "--strip-components=1"]);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "elsewhere", type: "module", private: true }));
});
after(() => rm(folder, { recursive: true }));

const program = `import { Client, ServiceError } from "@native-engine/client";
const client = new Client(process.argv[2]);
await client.createNamespace("packed");
const ns = client.namespace("packed");
await ns.createStream({ name: "s" });
await ns.stream("s").append(0, [{ key: "ada", value: "text" }]);
for await (const { offset, value } of ns.stream("s").tail({ from: "start" })) {
  console.log(offset, new TextDecoder().decode(value));
  break;
}
try {
  await ns.stream("nothing").get();
} catch (error) {
  console.log(error instanceof ServiceError && error.reason);
}
`;

test("the package is small, has no dependencies and the version of the server", async () => {
  assert.ok((await stat(packed)).size < 50_000);
  const manifest = JSON.parse(await readFile(join(folder, "node_modules/@native-engine/client/package.json"), "utf8"));
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  assert.deepEqual([manifest.dependencies, manifest.version], [undefined, version]);
});

test("an installed package is imported by plain JavaScript", async () => {
  await using server = await ServerProcess.start();
  await writeFile(join(folder, "program.js"), program);
  const { stdout } = await run(process.execPath, ["program.js", server.url], { cwd: folder });
  assert.equal(stdout, "0 text\nnot_found\n");
});

/** Every check of the compiler is on, that of declaration files too, and no types but the browser's are there. */
async function compile(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  const flags = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"];
  flags.push("--lib", "es2023,esnext.disposable,dom,dom.asynciterable", "--types", "");
  const { stdout } = await run(join(root, "node_modules/.bin/tsc"), [...flags, name], { cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

test("an installed package has its types", async () => {
  const good = `import { Client, type QueryReply, type StoredRecord } from "@native-engine/client";
const ns = new Client({ url: "http://127.0.0.1:8080" }).namespace("shop");
export const found: Promise<QueryReply> = ns.query({ from: "items", retrieve: [{ text: { field: "t", query: "a" } }] });
export const records: AsyncIterable<StoredRecord> = ns.stream("s").tail({ from: "start" });
`;
  assert.equal(await compile("good.ts", good), "");
  const bad = `${good}export const name: number = ns.name;\nns.query({ form: "items" });\n`;
  const told = await compile("bad.ts", bad);
  assert.match(told, /bad\.ts\(5,\d+\): error TS2322/);
  assert.match(told, /bad\.ts\(6,\d+\): error TS2353/);
});
