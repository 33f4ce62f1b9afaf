// Makes test/fixtures/format-1.*: a data folder in the first version of the format, and what the server answered.
// Run by hand, once for each version of the format, by a build that writes it: `node scripts/first-format.ts`.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { tarEnd, tarHeader, tarPadding } from "../src/engine/backup/tar.ts";
import {
  answersOf,
  asker,
  fixture,
  fixtureEnv,
  fixtureFlags,
  populate,
  questions,
  repeats,
} from "../test/support/first-format.ts";
import { ask } from "../test/support/http.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../test/support/process.ts";

const archiveBytesMax = 100 * 1024;
/** Fifty years ahead, so that what is kept for a day is still there when the tests run. */
const ahead = "data:text/javascript,const now = Date.now; Date.now = () => now() + 50 * 365 * 86400000;";

const dataDir = await temporaryFolder();
const made = await runCommand([
  "keys",
  "create",
  "--name",
  "fixture",
  "--role",
  "admin",
  "--data-dir",
  dataDir,
  "--json",
]);
const { key } = JSON.parse(made.stdout) as { key: string };
const env = { ...fixtureEnv, NODE_OPTIONS: `--import=${ahead.replaceAll(" ", "%20")}` };
let recorded: object;
{
  await using server = await ServerProcess.start({ dataDir, flags: fixtureFlags, env });
  const send = asker(server.url, key);
  await populate(send);
  const instance = await ask(`${server.url}/service.instance.v1.InstanceService/GetInstance`, { body: {} });
  recorded = {
    note: "not-a-secret: the key of an instance that was made for this file and is served nowhere",
    key,
    instanceId: instance.json.instanceId,
    answers: await answersOf(send, questions),
    repeats: await answersOf(send, repeats),
  };
  await server.stop();
}
const parts: Uint8Array[] = [];
for (const entry of (await readdir(dataDir, { recursive: true, withFileTypes: true })).sort((a, b) =>
  a.name < b.name ? -1 : 1,
)) {
  if (!entry.isFile() || /(^|\.)lock(\.mdb)?$/.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  const data = await readFile(file);
  parts.push(tarHeader(file.slice(dataDir.length + 1), data.length, 0), data, tarPadding(data.length));
}
const archive = gzipSync(Buffer.concat([...parts, tarEnd]), { level: 9 });
if (archive.length > archiveBytesMax)
  throw new Error(`the fixture has ${archive.length} bytes, more than ${archiveBytesMax}`);
await writeFile(fixture.archive, archive);
await writeFile(fixture.answers, `${JSON.stringify(recorded)}\n`);
await rm(dataDir, { recursive: true });
process.stdout.write(`${fixture.archive}: ${archive.length} bytes\n`);
