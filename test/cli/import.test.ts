import assert from "node:assert/strict";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CommandLine } from "../support/command-line.ts";
import { importKilled, lineOf, storedRows } from "../support/killed-import.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

let server: ServerProcess;
let cli: CommandLine;
let folder: string;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
  cli = new CommandLine(server, "n");
  await cli.ok(["ns", "create", "n"]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const schema = JSON.stringify({
  fields: [
    { name: "title", kind: "text" },
    { name: "at", kind: "date" },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim: 2 }],
  sparse_vectors: [{ name: "s" }],
});

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test("JSONL, CSV and Parquet give the same documents, and exports come back as they were", async () => {
  const rows = [
    { id: 7, title: 'a "quoted", text\nof two lines', at: "2024-05-06T07:08:09.250Z", n: 1, v: [1, 2] },
    { id: 8, title: "naïve 漢字", n: 2, v: [0.5, -1] },
    { id: 9, title: "", at: "2020-01-01T00:00:00Z", n: 3, s: { indices: [1, 5], values: [1, 0.5] } },
  ];
  const jsonl = await file("rows.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  await cli.ok(["import", jsonl, "-c", "first", "--schema", schema]);
  const documents = async (name: string) =>
    (await cli.ok(["export", "-c", name]))
      .trim()
      .split("\n")
      .map((line) => {
        const { version: _, ...rest } = JSON.parse(line);
        // Tables hold times in one form.
        const { at, ...source } = rest.source;
        return { ...rest, source: at === undefined ? source : { ...source, at: Date.parse(at) } };
      });
  const wanted = await documents("first");
  assert.deepEqual(
    wanted.map(({ id }) => id),
    [7, 8, 9],
  );
  assert.deepEqual(wanted[1].vectors, { v: [0.5, -1] });
  for (const extension of ["jsonl", "csv", "parquet"]) {
    const out = join(folder, `out.${extension}`);
    assert.deepEqual(await cli.json(["export", "-c", "first", out]), { rows: 3, file: out });
    await cli.ok(["import", out, "-c", extension, "--schema", schema]);
    assert.deepEqual(await documents(extension), wanted, extension);
  }
  await cli.fails(["export", "-c", "first", "--format", "parquet"], 2, /parquet needs a FILE/);
});

test("rows without an id are numbered, and the id's column can be named", async () => {
  const path = await file("plain.csv", "n,title\n10,ten\n20,twenty\n");
  await cli.ok(["import", path, "-c", "numbered", "--schema", schema]);
  assert.equal((await cli.json(["document", "get", "numbered", "1"])).source.title, "twenty");
  await cli.ok(["import", path, "-c", "named", "--schema", schema, "--id", "n"]);
  assert.deepEqual((await cli.json(["document", "get", "named", "20"])).source, { n: 20, title: "twenty" });
  const bad = await file("bad.jsonl", '{"id":1}\n{"id":"x"}\n');
  await cli.fails(["import", bad, "-c", "named"], 1, /line 2: id is "x", which is not an id\nhint: --id/);
});

test("into a stream: lines as they are, keys choose partitions, and records come back", async () => {
  await cli.ok(["stream", "create", "s", "--partitions", "4"]);
  const lines = Array.from({ length: 50 }, (_, i) => `{"user": "u${i % 7}",  "n": ${i}}`);
  await cli.ok(["import", await file("events.jsonl", lines.join("\n")), "-s", "s", "--key", "user"]);
  const records = (await cli.ok(["export", "-s", "s"]))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(records.map(({ value }) => value).sort(), [...lines].sort());
  for (const { key, value } of records) assert.equal(key, JSON.parse(value).user);
  assert.equal(new Set(records.map(({ key, partition }) => `${key}/${partition}`)).size, 7);
});

test("the same import again does nothing; another file, target or batch is refused; --restart starts over", async () => {
  await cli.ok(["stream", "create", "again"]);
  const path = await file("again.jsonl", '{"a":1}\n{"a":2}\n');
  const args = ["import", path, "-s", "again", "-p", "0"];
  assert.equal((await cli.json(args)).imported, 2);
  assert.equal((await cli.json(args)).imported, 0);
  assert.match(await cli.ok(args), /already/);
  assert.equal((await cli.json(["stream", "get", "again"])).partitions[0].high_watermark, 2);
  await cli.fails([...args, "--batch", "7"], 1, /failed_precondition: the checkpoint .* its options/);
  const { mtime } = await stat(path);
  await writeFile(path, '{"a":1}\n{"a":3}\n');
  await utimes(path, mtime, new Date(mtime.getTime() + 5000));
  await cli.fails(args, 1, /its source was/);
  assert.equal((await cli.json([...args, "--restart"])).imported, 2);
  assert.equal((await cli.json(["stream", "get", "again"])).partitions[0].high_watermark, 4);
});

test("a bad line is named, what came before it stays, and the mended file goes on with --checkpoint of its own", async () => {
  const path = await file("broken.jsonl", '{"id":1,"n":1}\n\n{"id":2,"n":"many"}\n');
  await cli.fails(["import", path, "-c", "broken", "--schema", schema, "--batch", "1"], 1, /line 3: ops\[0\]/);
  assert.equal((await cli.json(["document", "count", "broken"])).count, 1);
  await cli.fails(["import", await file("no.jsonl", "{\n"), "-c", "broken"], 1, /line 1 is not JSON/);
  await cli.fails(["import", path], 2, /either --collection or --stream/);
  await cli.fails(["import", path, "-c", "missing"], 5, /not_found/);
  await cli.fails(["import", join(folder, "data.bin"), "-c", "broken"], 2, /give --format/);
});

test("standard input is imported, and with a checkpoint resumed over what was read before", async () => {
  await cli.ok(["stream", "create", "piped"]);
  const checkpoint = join(folder, "piped.checkpoint");
  const args = ["import", "-", "-s", "piped", "-p", "0", "--batch", "2", "--checkpoint", checkpoint];
  const lines = ['{"a":1}', '{"a":2}', '{"a":3}', '{"a":4}', '{"a":5}'];
  await cli.ok(args, lines.join("\n"));
  const saved = JSON.parse(await readFile(checkpoint, "utf8"));
  assert.equal(saved.position.rows, 5);
  // As a kill after the first batch's acknowledgement leaves it.
  await writeFile(checkpoint, JSON.stringify({ ...saved, done: false, position: { ...saved.position, rows: 2 } }));
  assert.equal((await cli.json(args, lines.join("\n"))).imported, 3);
  const values = (await cli.ok(["stream", "tail", "piped", "--from", "start", "--values"])).trim().split("\n");
  assert.deepEqual(values, lines);
});

test("a stream's import that stopped more than a day ago asks what to assume", async () => {
  await cli.ok(["stream", "create", "old"]);
  const path = await file("old.jsonl", '{"a":1}\n{"a":2}\n{"a":3}\n');
  const checkpoint = join(folder, "old.checkpoint");
  const args = ["import", path, "-s", "old", "-p", "0", "--batch", "1", "--checkpoint", checkpoint];
  await cli.ok(args);
  const saved = JSON.parse(await readFile(checkpoint, "utf8"));
  const stopped = { ...saved, done: false, savedAtMs: Date.now() - 25 * 3_600_000 };
  await writeFile(checkpoint, JSON.stringify({ ...stopped, position: { rows: 1, lines: 1, bytes: 8 } }));
  await cli.fails(args, 1, /can't be known any more\nhint: .*--assume stored/s);
  assert.equal((await cli.json([...args, "--assume", "stored"])).rows, 3);
  const values = (await cli.ok(["stream", "tail", "old", "--from", "start", "--values"])).trim().split("\n");
  assert.deepEqual(values, ['{"a":1}', '{"a":2}', '{"a":3}', '{"a":3}']);
});

for (const target of ["stream", "collection"] as const) {
  test(`an import into a ${target} that is killed over and over loses nothing and writes nothing twice`, async () => {
    const rows = 3_000;
    const path = await file(`killed-${target}.jsonl`, Array.from({ length: rows }, (_, i) => lineOf(i)).join("\n"));
    const kills = await importKilled({ cli, path, target, name: `killed-${target}`, batch: 50, kills: 6 });
    assert.ok(kills >= 2, `${kills} kills came while it ran`);
    await storedRows(server.url, "n", target, `killed-${target}`, rows);
  });
}
