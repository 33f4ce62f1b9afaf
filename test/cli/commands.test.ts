import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { CommandLine } from "../support/command-line.ts";
import { runCommand, ServerProcess, startCommand, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

let server: ServerProcess;
let cli: CommandLine;
let folder: string;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
  cli = new CommandLine(server, "shop");
  await cli.ok(["ns", "create", "shop"]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test("namespaces: create, list, get, delete, and create again where that is asked for", async () => {
  const { id } = await cli.json(["ns", "create", "other"]);
  assert.deepEqual(await cli.json(["ns", "get", "other"]), { id, name: "other" });
  assert.match(await cli.ok(["ns", "list"]), /^NAME +ID\n─+ +─+\nother +\d+\nshop +\d+\n$/);
  await cli.fails(["ns", "create", "other"], 1, /already_exists/);
  assert.deepEqual(await cli.json(["ns", "create", "other", "--if-missing"]), { id, name: "other" });
  const bounds = { max_bytes: 1000, max_requests_per_second: 50 };
  const flags = ["--max-bytes", "1000", "--max-requests-per-second", "50"];
  assert.deepEqual(await cli.json(["ns", "quota", "other", ...flags]), { ...bounds, used_bytes: 0 });
  assert.match(await cli.ok(["ns", "quota", "other"]), /^used +0 B\nat most +1000 B\nrequests a second +50\n$/);
  await cli.fails(["ns", "quota", "other", "--none", "--max-bytes", "1"], 2, /--none/);
  assert.match(await cli.ok(["ns", "quota", "other", "--none"]), /at most +no bound/);
  await cli.ok(["ns", "delete", "other"]);
  await cli.fails(["ns", "get", "other"], 5, /not_found: .*\nhint: name a namespace/s);
});

test("streams: create, append lines, JSON, events and a whole input, tail, retention, delete", async () => {
  await cli.ok(["stream", "create", "s", "--max-age", "7d"]);
  assert.equal((await cli.json(["stream", "append", "s"], "a\nb\n\nc")).records, 3);
  await cli.ok(
    ["stream", "append", "s", "--format", "json", "--header", "h=1"],
    '{"key":"k","value":{"x":1},"timestamp_ms":5}\n{"value":"text"}\n',
  );
  await cli.ok(["stream", "append", "s", "--format", "whole", "-k", "all"], "two\nlines");
  await cli.ok(["stream", "append", "s", "--key-separator", "="], "k2=v2\n");
  const event = { specversion: "1.0", id: "1", source: "/t", type: "t" };
  await cli.ok(["stream", "append", "s", "--format", "events"], JSON.stringify(event));
  const lines = (await cli.ok(["stream", "tail", "s", "--from", "start", "--json"])).trim().split("\n");
  const records = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    records.slice(0, 7).map(({ key, value }) => [key, value]),
    [
      [undefined, "a"],
      [undefined, "b"],
      [undefined, "c"],
      ["k", '{"x":1}'],
      [undefined, "text"],
      ["all", "two\nlines"],
      ["k2", "v2"],
    ],
  );
  assert.equal(records[3].timestamp_ms, 5);
  assert.deepEqual(records[3].headers, [{ key: "h", value: "1" }]);
  assert.equal(records.length, 8);
  assert.match(await cli.ok(["stream", "tail", "s", "-l", "3"]), /^0\/5 .* all {2}two\\nlines\n0\/6 .*\n0\/7 /);
  assert.match(await cli.ok(["stream", "get", "s"]), /PARTITION +START +END +RECORDS\n.*\n +0 +0 +8 +8\n/);
  await cli.ok(["stream", "retention", "s", "--max-bytes", "100000"]);
  assert.deepEqual((await cli.json(["stream", "list"])).streams, [
    { name: "s", partitions: 1, retention: { max_age_ms: null, max_bytes: 100000 } },
  ]);
  await cli.ok(["stream", "delete", "s"]);
  await cli.fails(["stream", "get", "s"], 5, /not_found/);
});

test("lines of JSON take headers in both forms, and a time that no calendar has is shown", async () => {
  await cli.ok(["stream", "create", "headed"]);
  const lines = [
    '{"headers":[{"key":"a","value":"1"},{"key":"a","value":{"x":2}},{"key":"b"}]}',
    '{"headers":{"c":"3","d":null}}',
    '{"timestamp_ms":9007199254740991}',
  ];
  await cli.ok(["stream", "append", "headed", "--format", "json"], lines.join("\n"));
  const shown = (await cli.ok(["stream", "tail", "headed", "--json"])).trim().split("\n");
  assert.deepEqual(
    shown.map((line) => JSON.parse(line).headers),
    [
      [{ key: "a", value: "1" }, { key: "a", value: '{"x":2}' }, { key: "b" }],
      [{ key: "c", value: "3" }, { key: "d" }],
      undefined,
    ],
  );
  assert.match(await cli.ok(["stream", "tail", "headed"]), /\n0\/2 {2}9007199254740991 {2}\(no value\)\n$/);
  for (const [line, wrong] of [
    ['{"headers":["a"]}', /line 1: headers must be/],
    ['{"headers":[{"key":"a","vlaue":"b"}]}', /line 1: headers must be/],
    ['{"headers":"a"}', /line 1: headers must be/],
    ['{"timestamp_ms":"soon"}', /line 1: timestamp_ms must be an integer/],
  ] as const) {
    await cli.fails(["stream", "append", "headed", "--format", "json"], 1, wrong, line);
  }
});

test("tail -f shows what comes, and ends with Ctrl-C", async () => {
  await cli.ok(["stream", "create", "live", "--partitions", "2"]);
  const tail = startCommand(["stream", "tail", "live", "-f", "--values"], cli.env);
  const lines = createInterface({ input: tail.stdout })[Symbol.asyncIterator]();
  const first = lines.next();
  // It may not listen yet: what is there when it starts is shown too.
  await cli.ok(["stream", "append", "live", "-p", "1"], "one");
  assert.equal((await first).value, "one");
  await cli.ok(["stream", "append", "live", "-p", "0"], "two");
  assert.equal((await lines.next()).value, "two");
  tail.kill("SIGINT");
  assert.equal((await once(tail, "exit"))[0], 130);
});

test("links and their counters", async () => {
  await cli.ok(["stream", "create", "clicks"]);
  await cli.ok(["link", "create", "by-key", "--source", "clicks"]);
  await cli.ok(["link", "create", "other", "--source", "clicks", "--target", "somewhere:x"]);
  await cli.ok(["stream", "append", "clicks", "-k", "home"], "1\n1");
  const links = (await cli.json(["link", "list"])).links;
  assert.deepEqual(
    links.map(({ name, status }: { name: string; status: string }) => [name, status]),
    [
      ["by-key", "running"],
      ["other", "unregistered"],
    ],
  );
  assert.match(await cli.ok(["link", "get", "by-key"]), /status +running/);
  await cli.ok(["link", "delete", "other"]);
  await cli.fails(["link", "create", "x"], 2, /--source is missing/);
});

test("collections: create from a file, fields, aliases, versions, documents, query, drop", async () => {
  const schema = join(folder, "schema.json");
  await writeFile(
    schema,
    JSON.stringify({
      fields: [
        { name: "title", kind: "text" },
        { name: "price", kind: "f64" },
      ],
      vectors: [{ name: "v", dim: 2, distance: "cosine" }],
    }),
  );
  await cli.ok(["collection", "create", "items", "--schema", `@${schema}`]);
  await cli.ok(["collection", "create", "items", "--schema", `@${schema}`]);
  await cli.fails(["collection", "create", "items", "--schema", "{}"], 1, /already_exists/);
  await cli.fails(["collection", "create", "items", "--schema", "{"], 2, /--schema is not JSON/);
  const rows = [
    { id: 1, title: "red apple", price: 1.5, v: [1, 0] },
    { id: 2, title: "green pear", price: 2, v: [0, 1] },
  ];
  const file = join(folder, "items.jsonl");
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  await cli.ok(["import", file, "-c", "items"]);
  assert.equal((await cli.json(["document", "count", "items"])).count, 2);
  assert.deepEqual((await cli.json(["document", "get", "items", "2"])).source, { title: "green pear", price: 2 });
  await cli.fails(["document", "get", "items", "9"], 5, /not_found/);
  const found = await cli.json(["query", "items", "-t", "title:apple", "-v", "v:[0,1]", "--limit", "2"]);
  assert.deepEqual(
    found.rows.map(({ _id }: { _id: number }) => _id),
    [1, 2],
  );
  const table = await cli.ok(["query", "items", "--filter", '{"range":{"price":{"gt":1.8}}}', "--select", "title"]);
  assert.match(table, /^_id +_score +title\n─+ +─+ +─+\n +2 +0\.?0* +green pear\n\n1 in /);
  const body = '{"from":"items","retrieve":[{"text":{"field":"title","query":"pear"}}]}';
  assert.equal((await cli.json(["query", "--body", "-"], body)).rows[0]._id, 2);
  await cli.ok(["collection", "fields", "items", "--add", '[{"name":"tag","kind":"keyword"}]']);
  assert.match(await cli.ok(["collection", "fields", "items"]), /tag +keyword +yes/);
  await cli.fails(
    ["collection", "fields", "items", "--add", '[{"name":"t2","kind":"keyword"}]', "--expect-version", "1"],
    1,
    /conflict/,
  );
  assert.match(await cli.ok(["collection", "alias", "things", "items"]), /things +items/);
  assert.equal((await cli.json(["collection", "get", "things"])).name, "items");
  assert.match(await cli.ok(["collection", "get", "items"]), /aliases +things/);
  assert.match(await cli.ok(["collection", "list"]), /items +things/);
  assert.deepEqual(await cli.json(["collection", "alias", "things", "--remove"]), { aliases: [] });
  assert.ok(Array.isArray((await cli.json(["collection", "versions", "items"])).versions));
  assert.deepEqual(await cli.json(["document", "delete", "items", "1", "7"]), { deleted: 1 });
  await cli.ok(["collection", "drop", "items"]);
});

test("a wrong command line is refused with its help, a failure with its reason and a hint", async () => {
  await cli.fails(["stream", "create"], 2, /NAME is missing\nSee native-engine stream create --help/);
  await cli.fails(["stream", "create", "a", "b"], 2, /unexpected argument b/);
  await cli.fails(["stream", "list", "--frob"], 2, /--frob/);
  await cli.fails(["stream", "frob"], 2, /unknown command stream frob\n.*stream create NAME/s);
  await cli.fails(["stream", "creat"], 2, /unknown command stream creat; did you mean create\?/);
  await cli.fails(["stream", "list", "--frob"], 2, /stream list: unknown option --frob\nSee /);
  await cli.fails(["backup", "no/such/folder/x.tar"], 5, /not_found: there is no file or folder .*x\.tar\nhint: /);
  await cli.fails(["stream", "create", "a", "--partitions", "many"], 2, /--partitions must be a whole number/);
  await cli.fails(["stream", "tail", "x", "--url", "nowhere"], 2, /must start with http/);
  const { code, stderr } = await cli.run(["stream", "get", "none", "--json"]);
  assert.equal(code, 5);
  const told = JSON.parse(stderr);
  assert.equal(told.error, "not_found");
  assert.match(told.request_id, /.+/);
});

test("a server that is not there is exit code 3, with a hint", async () => {
  const port = new URL(server.url).port;
  const gone = await ServerProcess.start();
  const { url } = gone;
  await gone[Symbol.asyncDispose]();
  assert.notEqual(new URL(url).port, port);
  const { code, stderr } = await runCommand(["ns", "list"], { SERVICE_URL: url });
  assert.equal(code, 3, stderr);
  assert.match(stderr, /unavailable: the server can't be reached.*\nhint: is the server running\?/s);
});

test("every command has help that names its options, and the main help names every command", async () => {
  const { commands } = await import("../../src/cli/commands.ts");
  const main = await cli.ok(["--help"]);
  for (const name of new Set(commands.map(({ path }) => path[0]!)))
    assert.match(main, new RegExp(`native-engine ${name}`));
  for (const path of [["import"], ["stream", "append"], ["sql"]]) {
    const help = await cli.ok([...path, "--help"]);
    const { options = [] } = commands.find((each) => each.path.join() === path.join())!;
    for (const { name } of options) assert.ok(help.includes(`--${name}`), name);
    assert.match(help, /Exit codes: 0 done/);
  }
  assert.match(await cli.ok(["stream", "--help"]), /stream tail NAME/);
});

test("completion knows bash, zsh and fish", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    assert.match(await cli.ok(["completion", shell]), /native-engine completion words/);
  }
  await cli.fails(["completion", "csh"], 2, /bash, zsh, fish/);
  await cli.fails(["completion", "bash", "more"], 2, /unexpected argument more/);
});

test("a credential comes from a flag, a variable or a file", async () => {
  await using guarded = await ServerProcess.start({
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: "boss:admin:secret-of-the-boss-0123456789" },
  });
  const own = new CommandLine(guarded, "n");
  await own.fails(["ns", "list"], 4, /unauthenticated.*\nhint: give a key/s);
  const key = "secret-of-the-boss-0123456789";
  await own.ok(["ns", "list", "--api-key", key]);
  const file = join(folder, "key");
  await writeFile(file, `${key}\n`);
  for (const env of [{ SERVICE_API_KEY: key }, { SERVICE_API_KEY_FILE: file }]) {
    await new CommandLine(guarded, "n", env).ok(["ns", "list"]);
  }
});

test("SQL: one statement with parameters, a script, CSV, tables, and what goes wrong", async () => {
  await cli.ok([
    "collection",
    "create",
    "books",
    "--schema",
    '{"fields":[{"name":"title","kind":"text"},{"name":"year","kind":"i64"}]}',
  ]);
  const file = join(folder, "books.jsonl");
  await writeFile(file, '{"id":1,"title":"one","year":1990}\n{"id":2,"title":"two, or more","year":2010}\n');
  await cli.ok(["import", file, "-c", "books"]);
  const found = await cli.json(["sql", "-c", "SELECT title FROM books WHERE year > ?", "2000"]);
  assert.deepEqual(found.rows, [{ title: "two, or more" }]);
  assert.equal(
    await cli.ok(["sql", "--csv", "-c", "SELECT _id, title FROM books ORDER BY _id"]),
    '_id,title\n1,one\n2,"two, or more"\n',
  );
  const script = "SELECT 1 AS a;\nSELECT count(*)\n AS n FROM books;\n\\dt\n\\d books\n\\x\nSELECT ';' AS b;\n";
  const shown = await cli.ok(["sql"], script);
  assert.match(shown, /^a\n─\n1\n\(1 row\)\nn\n─\n2\n\(1 row\)\n/);
  assert.match(shown, /collections +books/);
  assert.match(shown, /title +VARCHAR/);
  assert.match(shown, /── row 1\nb {2};\n\(1 row\)\n$/);
  await cli.fails(["sql", "-c", "SELEC"], 1, /invalid_argument: query/);
  const broken = await cli.run(["sql"], "SELEC;\nSELECT 5 AS goes_on");
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /goes_on/);
  await cli.fails(["sql", "2000"], 2, /the statement goes after -c: native-engine sql -c SQL 2000/);
});

test("doctor finds a damaged document and a lost object, and rebuilds what can be rebuilt", async () => {
  const dataDir = join(folder, "sick");
  const sick = await ServerProcess.start({ dataDir });
  const own = new CommandLine(sick, "n");
  await own.ok(["ns", "create", "n"]);
  const file = join(folder, "sick.jsonl");
  await writeFile(
    file,
    Array.from({ length: 50 }, (_, id) => JSON.stringify({ id, title: `findable ${id}` })).join("\n"),
  );
  const schema = '{"fields":[{"name":"title","kind":"text"}]}';
  await own.ok(["import", file, "-c", "c", "--schema", schema]);
  await eventually(
    async () => (await own.json(["collection", "get", "c"])).manifest.version as number,
    (version) => version > 0,
  );
  const busy = await runCommand(["doctor", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
  assert.ok(JSON.parse(busy.stdout).findings.some(({ detail }: { detail: string }) => /not checked/.test(detail)));
  await sick.stop();
  const look = async () => {
    const { code, stdout } = await runCommand(["doctor", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
    const findings: { check: string; state: string; detail: string }[] = JSON.parse(stdout).findings;
    return { code, bad: findings.filter(({ check, state }) => check !== "disk" && state !== "ok") };
  };
  assert.deepEqual(await look(), { code: 0, bad: [] });
  await rm(join(dataDir, "objects", "collections", "1", "segments"), { recursive: true });
  const lost = await look();
  assert.equal(lost.code, 0);
  assert.match(lost.bad[0]?.detail ?? "", /it is missing.*doctor --rebuild/);
  const rebuilt = await runCommand(["doctor", "--data-dir", dataDir, "--rebuild", "--json"]);
  assert.deepEqual(JSON.parse(rebuilt.stdout), { rebuilt: [{ namespace: "n", collection: "c", documents: 50 }] });
  assert.deepEqual(await look(), { code: 0, bad: [] });
  const store = join(dataDir, "store", "data.mdb");
  const bytes = await readFile(store);
  // Every copy of it: LMDB may keep an older page too.
  for (let at = bytes.indexOf("findable 33"); at >= 0; at = bytes.indexOf("findable 33", at + 1)) bytes[at]! ^= 1;
  await writeFile(store, bytes);
  const damaged = await look();
  assert.equal(damaged.code, 1);
  assert.match(damaged.bad[0]?.detail ?? "", /^1 of 50 damaged: .*restore the data from a backup$/);
  await rm(store);
  const gone = await look();
  assert.equal(gone.code, 1);
  assert.match(gone.bad[0]?.detail ?? "", /is gone and its commit log is there; restore/);
});
