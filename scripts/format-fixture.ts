// Makes test/fixtures/format-NAME.*: a data folder that a build of a format left when it was killed, and what it answered.
// Run by hand, once for each version of the format: `node scripts/format-fixture.ts NAME BUILD [FROM]`, where BUILD is the folder of a
// checkout that writes it, and FROM a fixture that it takes over; without one it fills a folder of its own.
import { execFile } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { tarEnd, tarHeader, tarPadding } from "../src/engine/backup/tar.ts";
import { type Asker, answersOf, asker, populate, questions, repeats } from "../test/support/fixture-data.ts";
import {
  fixtureEnv,
  fixtureFlags,
  fixtureOf,
  type Recorded,
  recordedAnswers,
  unpack,
} from "../test/support/formats.ts";
import { ask } from "../test/support/http.ts";
import { commandOf, ServerProcess, temporaryFolder } from "../test/support/process.ts";
import {
  prepareUnmoved,
  unmovedQuestions,
  unmovedRepeats,
  writeLone,
  writeUnmoved,
} from "../test/support/unmoved-writes.ts";

const archiveBytesMax = 200 * 1024;
/** Until a build has moved small appends to their place. */
const movedMs = 3_000;
/** Fifty years ahead, so that what is kept for a day is still there when the tests run. */
const ahead = "data:text/javascript,const now = Date.now; Date.now = () => now() + 50 * 365 * 86400000;";
const env = { ...fixtureEnv, NODE_OPTIONS: `--import=${ahead.replaceAll(" ", "%20")}` };

async function createKey(build: string, dataDir: string): Promise<string> {
  const command = ["keys", "create", "--name", "fixture", "--role", "admin", "--data-dir", dataDir, "--json"];
  const [node, ...args] = commandOf(build);
  const made = await promisify(execFile)(node, [...args, ...command]);
  return (JSON.parse(made.stdout) as { key: string }).key;
}

/** Something of everything, and at last what is not moved when the process is killed. */
async function fill(send: Asker): Promise<Pick<Recorded, "answers" | "repeats">> {
  await populate(send);
  await prepareUnmoved(send);
  // Builds that keep small appends in a file beside the store make it at the first of them.
  await writeLone(send, "early", 100);
  await sleep(movedMs);
  const answers = await answersOf(send, questions);
  const again = await answersOf(send, repeats);
  await writeUnmoved(send);
  Object.assign(again, await answersOf(send, unmovedRepeats));
  await writeLone(send, "after all", 5);
  return { answers: Object.assign(answers, await answersOf(send, unmovedQuestions)), repeats: again };
}

/** A build that takes over what another has left adds to it before it has moved anything. */
async function takeOver(send: Asker, from: Recorded): Promise<Pick<Recorded, "answers" | "repeats">> {
  await writeLone(send, "taken over", 30);
  return { answers: { ...from.answers, ...(await answersOf(send, unmovedQuestions)) }, repeats: from.repeats };
}

async function archiveOf(dataDir: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.isFile() || /(^|\.)lock(\.mdb)?$/.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    const data = await readFile(file);
    parts.push(tarHeader(file.slice(dataDir.length + 1), data.length, 0), data, tarPadding(data.length));
  }
  const archive = gzipSync(Buffer.concat([...parts, tarEnd]), { level: 9 });
  if (archive.length > archiveBytesMax) throw new Error(`${archive.length} bytes are more than ${archiveBytesMax}`);
  return archive;
}

const [name, folder, fromName] = process.argv.slice(2);
if (name === undefined || folder === undefined) throw new Error("usage: format-fixture.ts NAME BUILD [FROM]");
const build = resolve(folder);
const dataDir = await temporaryFolder();
const from = fromName === undefined ? undefined : await recordedAnswers(fromName);
if (fromName !== undefined) await unpack(fromName, dataDir);
const key = from?.key ?? (await createKey(build, dataDir));
let recorded: Recorded;
{
  await using server = await ServerProcess.start({ build, dataDir, flags: fixtureFlags, env });
  const send = asker(server.url, key);
  const instance = await ask(`${server.url}/service.instance.v1.InstanceService/GetInstance`, { body: {} });
  const written = from === undefined ? await fill(send) : await takeOver(send, from);
  await server.kill();
  recorded = {
    note: "not-a-secret: the key of an instance that was made for this file and is served nowhere",
    key,
    instanceId: instance.json.instanceId,
    ...written,
  };
}
const { archive, answers } = fixtureOf(name);
await writeFile(archive, await archiveOf(dataDir));
await writeFile(answers, `${JSON.stringify(recorded)}\n`);
await rm(dataDir, { recursive: true });
process.stdout.write(`${archive}\n`);
