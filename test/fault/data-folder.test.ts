import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { makeDataFolder } from "../../src/composition/data-folder.ts";
import { startCommand, temporaryFolder } from "../support/process.ts";

let folder: string;

before(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, "file"), "");
  await mkdir(join(folder, "read-only"));
  await chmod(join(folder, "read-only"), 0o500);
  await symlink(join(folder, "nowhere"), join(folder, "link"));
  for (const part of ["store", "auth", "objects"]) {
    await mkdir(join(folder, part));
    await writeFile(join(folder, part, part), "");
  }
});
after(() => rm(folder, { recursive: true, force: true }));

/** Proves: whatever keeps the folder from being made or written to ends the start with its name and an exit code. */
for (const [what, path] of [
  ["in /proc", () => "/proc/native-engine"],
  ["that is /proc", () => "/proc"],
  ["that is a file", () => join(folder, "file")],
  ["below a file", () => join(folder, "file/data")],
  ["that is a link to nowhere", () => join(folder, "link")],
  ["in a folder that may not be written to", () => join(folder, "read-only/data")],
  ["that may not be written to", () => join(folder, "read-only")],
  ["with a file for its store", () => join(folder, "store")],
  ["with a file for its keys", () => join(folder, "auth")],
  ["with a file for its objects", () => join(folder, "objects")],
] as const) {
  test(`a data folder ${what} is refused at once`, { timeout: 60_000 }, async (t) => {
    const dataDir = path();
    if (dataDir.includes("read-only") && process.getuid?.() === 0) return t.skip("the system stops root from nothing");
    const child = startCommand(["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir]);
    // One that spins in the system's calls hears no other signal.
    t.after(() => child.kill("SIGKILL"));
    const [told, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    assert.equal(code, 1, told);
    assert.match(told, new RegExp(`"could not start: data-dir: ${dataDir} can't be used: [^"]+"`));
  });
}

test("a data folder is made with all above it, for its owner alone, and nothing is left in it", async () => {
  const dataDir = join(folder, "some/where/else");
  makeDataFolder(dataDir);
  makeDataFolder(dataDir);
  assert.deepEqual(await readdir(dataDir), []);
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
});
