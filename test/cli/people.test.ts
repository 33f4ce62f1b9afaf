/** What people expect of a command line beyond its commands: where options may stand, names, hints, errors that point. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { selfSigned } from "../listener/certificate.ts";
import { CommandLine } from "../support/command-line.ts";
import { commandOf, runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";

let server: ServerProcess;
let cli: CommandLine;
let folder: string;
before(async () => {
  folder = await temporaryFolder();
  server = await ServerProcess.start();
  cli = new CommandLine(server, "shop");
  await cli.ok(["ns", "create", "shop"]);
  await cli.ok(["stream", "create", "orders"]);
  const schema = { fields: [{ name: "title", kind: "text" }], vectors: [{ name: "v", dim: 2 }] };
  await cli.ok(["collection", "create", "items", "--schema", JSON.stringify(schema)]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test("options may stand before the command, between its words and behind it", async () => {
  for (const args of [
    ["--url", server.url, "-n", "shop", "--json", "stream", "list"],
    [`--url=${server.url}`, "--json", "stream", "list", "--namespace", "shop"],
    ["stream", "-n", "shop", "--json", "list", "--url", server.url],
    ["--url", server.url, "-nshop", "streams", "--json"],
    ["stream", "list", "-n=shop", "--json", `--url=${server.url}`],
    ["stream", "list", "--json", "-n", "shop", "--url", server.url],
  ]) {
    const { code, stdout, stderr } = await runCommand(args);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { streams: [{ name: "orders", partitions: 1 }] });
  }
});

test("common words for list, get and delete are understood, and help comes before a command too", async () => {
  assert.equal((await cli.json(["stream", "ls"])).streams[0].name, "orders");
  assert.equal((await cli.json(["collection", "show", "items"])).name, "items");
  await cli.ok(["stream", "create", "gone"]);
  assert.match(await cli.ok(["-nshop", "stream", "rm", "gone"]), /stream gone is deleted/);
  assert.match(await cli.ok(["help", "stream", "create"]), /^native-engine stream create NAME/);
  assert.match(await cli.ok(["-h", "stream", "create"]), /^native-engine stream create NAME/);
});

test("plurals are understood, and alone they list", async () => {
  const { streams } = await cli.json(["streams"]);
  assert.equal(streams[0].name, "orders");
  assert.equal((await cli.json(["collections", "get", "items"])).name, "items");
  assert.match(await cli.ok(["namespaces"]), /shop/);
});

for (const [args, want] of [
  [["stream", "list", "--jsn"], /stream list: unknown option --jsn; did you mean --json\?\nSee .* stream list --help/],
  [["stream", "--partitons", "4", "create", "s"], /unknown option --partitons; did you mean --partitions\?/],
  [["--ulr", "x", "stream", "list"], /unknown option --ulr; did you mean --url\?/],
  [["stream", "list", "--nothing-like-it"], /unknown option --nothing-like-it\nSee/],
  [["stream", "list", "-x"], /unknown option -x\nSee/],
  [["stream", "list", "-n"], /--namespace needs a value: --namespace NAME\n/],
  [["stream", "list", "-n", "--json"], /--namespace needs a value: --namespace NAME; .*--namespace=…/],
  [["stream", "list", "--json=yes"], /--json takes no value/],
  [["streams", "orders"], /unknown command stream orders/],
  [["sql", "select 1"], /the statement goes after -c: native-engine sql -c 'select 1'\n/],
  [["sql", "select $1, 'a'", "5"], /native-engine sql -c 'select \$1, '\\''a'\\''' '5'\n/],
  [["sql", "select", "1"], /native-engine sql -c 'select 1'\n/],
] as const) {
  test(`${args.join(" ")} is told what is wrong`, () => cli.fails(args, 2, want));
}

test("a key for a namespace that does not exist is made, with a warning where the server can be asked", async () => {
  const create = (name: string, namespace: string, url = server.url) =>
    runCommand([
      "keys",
      "create",
      name,
      "--role",
      "reader",
      "-n",
      namespace,
      "--data-dir",
      server.dataDir,
      "--url",
      url,
    ]);
  const missing = await create("a", "shop,shp");
  assert.equal(missing.code, 0, missing.stderr);
  assert.match(missing.stderr, /^warning: there is no namespace shp yet; .*ns create shp/);
  assert.doesNotMatch(missing.stderr, /namespace shop yet/);
  for (const made of [await create("b", "shop"), await create("c", "shp", "http://127.0.0.1:1")]) {
    assert.equal(made.code, 0, made.stderr);
    assert.doesNotMatch(made.stderr, /warning/);
  }
});

test("a bare command says shortly what there is", async () => {
  const { code, stderr } = await runCommand([]);
  assert.equal(code, 2);
  assert.match(stderr, /no command given/);
  assert.ok(stderr.split("\n").length < 15, stderr);
});

test("a document is put, merged into, and edited in an editor", async () => {
  assert.match(await cli.ok(["document", "put", "items", "1", '{"title":"a","n":1}', "-v", "v:[1,0]"]), /1 created/);
  assert.match(await cli.ok(["document", "put", "items", "1", "--merge"], '{"n":null,"m":2}'), /1 updated, version 2/);
  const edited = new CommandLine(server, "shop", { EDITOR: 'sed -i \'s/"a"/"b"/\'' });
  assert.match(await edited.ok(["document", "edit", "items", "1"]), /1 updated, version 3/);
  const { source, vectors } = await cli.json(["document", "get", "items", "1"]);
  assert.deepEqual([source, vectors], [{ title: "b", m: 2 }, { v: [1, 0] }]);
  assert.match(await edited.ok(["document", "edit", "items", "1"]), /unchanged/);
  const broken = new CommandLine(server, "shop", { EDITOR: "echo { >" });
  await broken.fails(["document", "edit", "items", "1"], 2, /the edited document is not JSON/);
  const meanwhile = join(folder, "meanwhile.sh");
  const put = [...commandOf(), "document", "put", "items", "1", `'{"title":"c"}'`];
  await writeFile(meanwhile, `${put.join(" ")} >/dev/null\nsed -i 's/"b"/"d"/' "$1"\n`);
  const slow = new CommandLine(server, "shop", { EDITOR: `sh ${meanwhile}` });
  await slow.fails(["document", "edit", "items", "1"], 1, /conflict: document 1 was changed in the meantime/);
  await cli.fails(["document", "put", "items", "1", "[]"], 2, /must be a JSON object/);
  await cli.fails(["document", "edit", "items", "9"], 5, /no document with the id 9/);
  assert.match(await cli.ok(["document", "delete", "items", "1"]), /^1 document deleted\n$/);
});

/** Numbers that a double can't carry, and how they are written. */
const large = "12345678901234567890";
const precise = "0.12345678901234567890123";
const exact = `"n":${large},"p":${precise},"list":[1e400,${large}]`;

test("documents keep numbers that a double can't carry: put, edit, get, SQL, export and import", async () => {
  await cli.ok(["document", "put", "items", "21", `{"title":"big",${exact}}`]);
  const edited = new CommandLine(server, "shop", { EDITOR: "sed -i s/big/huge/" });
  assert.match(await edited.ok(["document", "edit", "items", "21"]), /21 updated, version 2/);
  const source = `{"title":"huge",${exact}}`;
  const got = await cli.ok(["document", "get", "items", "21", "--json"]);
  assert.ok(got.includes(source), got);
  assert.ok((await cli.ok(["document", "get", "items", "21"])).includes(`"n": ${large},`));
  const select = ["sql", "-c", "SELECT _source FROM items WHERE _id = 21"];
  const [shown, inCsv] = [await cli.ok([...select, "--json"]), await cli.ok([...select, "--csv"])];
  assert.ok(shown.includes(source), shown);
  assert.ok(inCsv.includes(source.replaceAll('"', '""')), inCsv);
  const file = join(folder, "exact.jsonl");
  await cli.ok(["export", "-c", "items", file]);
  assert.ok((await readFile(file, "utf8")).includes(source));
  await cli.ok(["import", file, "-c", "again", "--schema", '{"fields":[{"name":"title","kind":"text"}]}']);
  const again = await cli.ok(["export", "-c", "again"]);
  assert.ok(again.includes(source), again);
  const columns = join(folder, "columns.jsonl");
  await writeFile(columns, `{"id":22,"title":"huge",${exact}}\n`);
  await cli.ok(["import", columns, "-c", "again"]);
  const imported = await cli.ok(["document", "get", "again", "22", "--json"]);
  assert.ok(imported.includes(exact), imported);
  await writeFile(columns, `{"id":${large}}\n`);
  await cli.fails(
    ["import", columns, "-c", "again", "--restart"],
    1,
    /line 1: id is 12345678901234567890, which is not an id/,
  );
  await writeFile(columns, `${large}\n`);
  await cli.fails(["import", columns, "-c", "again", "--restart"], 1, /line 1 must be a JSON object/);
  await cli.fails(["document", "put", "items", "21", large], 2, /must be a JSON object/);
});

test("records and parameters of SQL keep numbers that a double can't carry", async () => {
  await cli.ok(["stream", "create", "exact"]);
  const append = ["stream", "append", "exact", "--format", "json"];
  await cli.ok(append, `{"key":${large},"value":{${exact}},"headers":{"h":${large}}}\n{"value":${precise}}\n`);
  const shown = (await cli.ok(["stream", "tail", "exact", "--json"])).trim().split("\n");
  const [first, second] = shown.map((line) => JSON.parse(line));
  assert.deepEqual([first.key, first.value, first.headers[0].value], [large, `{${exact}}`, large]);
  assert.equal(second.value, precise);
  await cli.fails(append, 1, /line 1 must be a JSON object/, large);
  await cli.fails(append, 1, /line 1: headers must be/, `{"headers":${large}}`);
  await cli.fails(append, 1, /line 1: timestamp_ms must be an integer/, `{"timestamp_ms":${large}}`);
  const select = ["sql", "--csv", "-c", "SELECT $1 AS b, $2 AS c"];
  assert.equal(await cli.ok([...select, "9007199254740993", large]), `b,c\n9007199254740993,${large}\n`);
});

test("an error in SQL points at its place", async () => {
  await cli.fails(["sql", "-c", "SELECT title,\n  nothing FROM items"], 1, /\n {4}nothing FROM items\n {4}\^\n/);
  const long = `SELECT ${"title, ".repeat(40)}nothing FROM items`;
  const { stderr } = await cli.run(["sql", "-c", long]);
  const [line, mark] = stderr.split("\n").slice(-3);
  assert.ok(line!.length <= 80 && line!.slice(mark!.indexOf("^")).startsWith("nothing"), stderr);
});

test("bash completes commands, options, values and names, wherever options stand", async (t) => {
  if (spawnSync("bash", ["--version"]).error !== undefined) return t.diagnostic("there is no bash here");
  const script = await cli.ok(["completion", "bash"]);
  const command = `native-engine() { "${commandOf().join('" "')}" "$@"; }`;
  const complete = (line: readonly string[], more: Readonly<Record<string, string>>) => {
    const quoted = line.map((word) => `'${word}'`).join(" ");
    const asked = `COMP_WORDS=(native-engine ${quoted}); COMP_CWORD=${line.length}; _native_engine; echo "\${COMPREPLY[*]}"`;
    const env = { ...process.env, SERVICE_URL: server.url, ...more };
    const options = { encoding: "utf8", env, cwd: join(root, "proto") } as const;
    return spawnSync("bash", ["-c", `${command}\n${script}\n${asked}`], options).stdout.trim();
  };
  const shop = { SERVICE_NAMESPACE: "shop" };
  const streamWords = "list create get delete retention append tail";
  for (const [line, want, env = {}] of [
    [["str"], "stream"],
    [["stream", "ap"], "append"],
    [["stream", ""], streamWords],
    [["streams", ""], streamWords],
    [["streams", "get", "o"], "orders", shop],
    [["-n", "shop", "stream", "get", "o"], "orders"],
    [["-nshop", "stream", "get", "o"], "orders"],
    [["stream", "-n", "shop", "get", "o"], "orders"],
    [["--url", "http", ":", "//127.0.0.1", ":", "1", "stream", "g"], "get"],
    [["--json", "col"], "collection"],
    [["keys", ""], "create list revoke"],
    [["keys", "create", "--ro"], "--role"],
    [["keys", "create", "--role", "w"], "writer"],
    [["keys", "create", "-n", "sh"], "shop"],
    [["signing-key", "r"], "rotate"],
    [["stream", "append", "s", "--key-s"], "--key-separator"],
    [["export", "--format", "par"], "parquet"],
    [["export", "--format", "=", "par"], "parquet"],
    [["export", "--format", "="], "jsonl csv parquet"],
    [["serve", "--postgres-l"], "--postgres-listen"],
    [["stream", "tail", "-n", "sh"], "shop"],
    [["stream", "get", "o"], ""],
    [["export", "-n", "shop", "-c", "it"], "items"],
    [["document", "get", "i"], "items", shop],
    [["document", "get", "items", "i"], "", shop],
    [["query", "i"], "items", shop],
    [["stream", "create", "o"], "", shop],
    [["import", "serv"], "service", shop],
    [["restore", "backup", "--data-dir", "serv"], "service"],
    [["completion", "z"], "zsh"],
  ] as const) {
    assert.equal(complete(line, env), want, line.join(" "));
  }
});

test("a certificate that nobody signed is trusted when it is named, and the hint says how", async () => {
  const { cert, key } = selfSigned("localhost");
  const file = join(folder, "server.pem");
  await writeFile(file, cert);
  const tls = createServer({ cert, key }, (_request, response) => response.end('{"namespaces":[]}'));
  await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
  try {
    const url = `https://localhost:${(tls.address() as { port: number }).port}`;
    const refused = await runCommand(["ns", "list", "--url", url]);
    assert.equal(refused.code, 3);
    assert.match(refused.stderr, /hint: .*--ca-file/);
    const trusted = await runCommand(["ns", "list", "--url", url, "--ca-file", file]);
    assert.deepEqual([trusted.code, trusted.stdout], [0, "no namespaces\n"], trusted.stderr);
    assert.equal((await runCommand(["ns", "list", "--url", url], { SERVICE_CA_FILE: file })).code, 0);
  } finally {
    tls.close();
  }
});

test("a file that is not there is named, and text in its place gets a hint", async () => {
  await cli.fails(["stream", "append", "orders", "hello"], 5, /there is no file hello\nhint: .*echo TEXT \|/);
  const missing = join(folder, "missing.tar");
  await cli.fails(
    ["restore", missing, "--data-dir", join(folder, "none")],
    5,
    /there is no file or folder .*missing\.tar/,
  );
});

test("a restore says which folder to serve", async () => {
  const backup = join(folder, "backup.tar");
  await cli.ok(["backup", backup]);
  const target = join(folder, "restored");
  await mkdir(target);
  const said = await cli.ok(["restore", backup, "--data-dir", target]);
  assert.ok(said.includes(`native-engine serve --data-dir ${target}`), said);
});

test("commands for a cluster say of a single server that it is none", async () => {
  for (const args of [["status"], ["move"], ["drain", "n1"]]) {
    const { code, stderr } = await runCommand(["cluster", ...args, "--url", server.url]);
    assert.notEqual(code, 0);
    assert.match(stderr, /this server is no node of a cluster\nhint: .*docs\/cluster\.md/);
  }
});
