import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError, StreamClient } from "../support/streams.ts";

let server: ServerProcess;
let all: string;
before(async () => {
  server = await ServerProcess.start();
  all = `${server.url}/v1/namespaces`;
});
after(() => server[Symbol.asyncDispose]());

test("a namespace is created, got, listed and deleted", async () => {
  const made = await ask(all, { body: { name: "life" } });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.json), ["id"]);
  const { id } = made.json;
  assert.ok(Number.isSafeInteger(id) && id >= 1);
  assert.deepEqual((await ask(`${all}/life`)).json, { name: "life", id });
  const listed = await ask(all);
  assert.equal(listed.status, 200);
  assert.deepEqual(
    listed.json.namespaces.filter(({ name }: { name: string }) => name === "life"),
    [{ name: "life", id }],
  );
  assert.equal((await ask(`${all}/life`, { method: "DELETE" })).status, 200);
  assertError(await ask(`${all}/life`), 404, "not_found");
  assertError(await ask(`${all}/life`, { method: "DELETE" }), 404, "not_found");
});

test("a taken name is 409 with the existing id", async () => {
  const { id } = (await ask(all, { body: { name: "taken" } })).json;
  const again = await ask(all, { body: { name: "taken" } });
  assertError(again, 409, "already_exists");
  assert.equal(again.json.id, id);
});

test("of many creates of one name at once, one wins and the others learn its id", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(all, { body: { name: "raced" } })));
  const made = answers.filter(({ status }) => status === 201);
  assert.equal(made.length, 1);
  for (const answer of answers) assert.equal(answer.json.id, made[0]!.json.id);
  assert.ok(answers.every(({ status }) => status === 201 || status === 409));
});

test("an id is not used again", async () => {
  const first = (await ask(all, { body: { name: "reborn" } })).json.id;
  await ask(`${all}/reborn`, { method: "DELETE" });
  const second = (await ask(all, { body: { name: "reborn" } })).json.id;
  assert.ok(second > first);
});

test("the list is sorted by name", async () => {
  for (const name of ["sort-b", "sort-a", "sort-B", "sort-1", "sort-a.a"]) await ask(all, { body: { name } });
  const names = (await ask(all)).json.namespaces.map(({ name }: { name: string }) => name);
  assert.deepEqual(names, [...names].sort());
  assert.deepEqual(
    names.filter((name: string) => name.startsWith("sort-")),
    ["sort-1", "sort-B", "sort-a", "sort-a.a", "sort-b"],
  );
});

test("a namespace that is not empty tells what it has", async () => {
  await ask(`${server.url}/v1/namespaces`, { body: { name: "held" } });
  const url = `${server.url}/v1/namespaces/held`;
  await ask(`${url}/streams`, { body: { name: "s" } });
  const steps: readonly [has: string, remove: string, make?: [string, object]][] = [
    ["collections", "/collections/c", ["/collections", { name: "c", schema: {} }]],
    ["links", "/links/l", ["/links", { name: "l", source: "s" }]],
    ["streams", "/streams/s"],
  ];
  for (const [, , make] of steps) if (make !== undefined) await ask(url + make[0], { body: make[1] });
  for (const [has, remove] of steps) {
    const answer = await ask(url, { method: "DELETE" });
    assertError(answer, 409, "conflict");
    assert.equal(answer.json.message, `namespace "held" is not empty: it has ${has}`);
    assert.equal((await ask(url + remove, { method: "DELETE" })).status, 200);
  }
  assert.equal((await ask(url, { method: "DELETE" })).status, 200);
});

test("a namespace with a stream can't be deleted until the stream is dropped", async () => {
  const client = await StreamClient.create(server.url, "full");
  await client.createStream("s");
  assertError(await ask(client.url, { method: "DELETE" }), 409, "conflict");
  assert.equal((await ask(client.streamUrl("s"), { method: "DELETE" })).status, 200);
  assert.equal((await ask(client.url, { method: "DELETE" })).status, 200);
  assertError(await ask(`${client.url}/streams`), 404, "not_found");
});

for (const name of ["a", "0", "A.b_c-D", `n${"x".repeat(127)}`]) {
  test(`the name ${name.slice(0, 10)} of ${name.length} characters is valid`, async () => {
    assert.equal((await ask(all, { body: { name } })).status, 201);
    assert.equal((await ask(`${all}/${name}`)).json.name, name);
  });
}

for (const [what, body, field] of [
  ["an empty name", { name: "" }, "name"],
  ["a name of 129 characters", { name: "n".repeat(129) }, "name"],
  ["a name that starts with a dot", { name: ".a" }, "name"],
  ["a name that starts with a dash", { name: "-a" }, "name"],
  ["a name that starts with an underscore", { name: "_a" }, "name"],
  ["a name with a slash", { name: "a/b" }, "name"],
  ["a name with a space", { name: "a b" }, "name"],
  ["a name with a line break at its end", { name: "a\n" }, "name"],
  ["a name outside ASCII", { name: "ä" }, "name"],
  ["a number as the name", { name: 1 }, "name"],
  ["null as the name", { name: null }, "name"],
  ["no name", {}, "name"],
  ["an unknown field", { name: "fine", colour: "red" }, "colour"],
  ["a prototype field", '{"name":"fine","__proto__":{}}', "__proto__"],
  ["an array", [], "body"],
  ["null", "null", "body"],
  ["an empty body", "", "body"],
] as const) {
  test(`create with ${what} is 400 naming ${field}`, async () => {
    assertError(await ask(all, { body }), 400, "invalid_argument", field);
  });
}

for (const [path, status, error] of [
  ["/missing", 404, "not_found"],
  ["/", 400, "invalid_argument"],
  ["/.bad", 400, "invalid_argument"],
  ["/a%2Fb", 400, "invalid_argument"],
  ["/a%20b", 400, "invalid_argument"],
  [`/${"n".repeat(129)}`, 400, "invalid_argument"],
  [`/${"n".repeat(6000)}`, 400, "invalid_argument"],
  ["/%zz", 400, "invalid_argument"],
  ["/%ff", 400, "invalid_argument"],
] as const) {
  test(`GET ${path.slice(0, 12)} of ${path.length} characters is ${status}`, async () => {
    assertError(await ask(all + path), status, error);
  });
}
