import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { Client, LiveClient, LiveFunctionError } from "../../src/client/index.ts";
import { runCommand, ServerProcess, startCommand, temporaryFolder } from "../support/process.ts";

const schema = `import { defineSchema, defineTable, v } from "native-engine/live"; export default defineSchema({ messages: defineTable({ text: v.string() }) });
`;
const messages = `import { mutation, query, v } from "native-engine/live";
import { prefix } from "./lib/prefix.ts";
export const list = query({ args: {}, handler: async (ctx): Promise<string[]> =>
  (await ctx.db.query("messages").collect()).map((each) => prefix + each.text) });
export const send = mutation({ args: { text: v.string() }, handler: async (ctx, { text }) => {
  if (text === "") throw new Error("say something");
  return await ctx.db.insert("messages", { text });
} });
`;

let server: ServerProcess;
let folder: string;
let env: Record<string, string>;

before(async () => {
  server = await ServerProcess.start();
  folder = await temporaryFolder();
  await mkdir(join(folder, "lib"));
  await writeFile(join(folder, "schema.ts"), schema);
  await writeFile(join(folder, "messages.ts"), messages);
  await writeFile(join(folder, "lib/prefix.ts"), "export const prefix: string = '> ';\n");
  env = { SERVICE_URL: server.url, SERVICE_LIVE_URL: server.live, SERVICE_NAMESPACE: "app" };
  await new Client(server.url).createNamespace("app");
  const { code, stderr } = await runCommand(["live", "deploy", folder], env);
  assert.equal(code, 0, stderr);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function connect(): LiveClient {
  return new LiveClient({ url: server.live, namespace: "app", retry: { waitMs: 10 } });
}

test("the command line deploys a folder, writes its types and runs its functions", async () => {
  const again = await runCommand(["live", "deploy", folder, "--dry-run", "--json"], env);
  assert.deepEqual((JSON.parse(again.stdout) as { changes: unknown[] }).changes, []);
  const api = await readFile(join(folder, "_generated/api.ts"), "utf8");
  assert.match(api, /send: "messages:send"/);
  assert.match(api, /import type \* as m0 from "\.\.\/messages\.ts"/);
  const sent = await runCommand(["live", "run", "messages:send", '{"text":"cli"}'], env);
  assert.equal(sent.code, 0, sent.stderr);
  const listed = await runCommand(["live", "run", "messages:list"], env);
  assert.deepEqual(JSON.parse(listed.stdout), ["> cli"]);
  const failed = await runCommand(["live", "run", "messages:send", '{"text":""}'], env);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /say something/);
  await writeFile(join(folder, "broken.ts"), "export const = 1;");
  const broken = await runCommand(["live", "deploy", folder], env);
  await rm(join(folder, "broken.ts"));
  assert.match(broken.stderr, /broken\.ts:1:/);
});

test("a client queries, mutates and watches", async () => {
  const live = connect();
  const before = ((await live.query("messages:list", {})) as string[]).length;
  await assert.rejects(live.mutate("messages:send", { text: "" }), LiveFunctionError);
  const seen = live.values("messages:list", {}) as AsyncGenerator<string[]>;
  assert.equal((await seen.next()).value!.length, before);
  await live.mutate("messages:send", { text: "one" });
  let shown: string[] = [];
  while (shown.length < before + 1) shown = (await seen.next()).value as string[];
  assert.equal(shown.at(-1), "> one");
  const heard: number[] = [];
  const stop = live.watch("_tables:count", { table: "messages" }, (count) => heard.push(count as number));
  await live.mutate("messages:send", { text: "two" });
  while (shown.length < before + 2) shown = (await seen.next()).value as string[];
  while (heard.at(-1) !== before + 2) await new Promise((resolve) => setTimeout(resolve, 5));
  stop();
  await seen.return(undefined);
  live.close();
});

test("an optimistic change shows at once, and goes when the mutation fails", async () => {
  const live = connect();
  const shown: string[][] = [];
  live.watch("messages:list", {}, (value) => shown.push(value as string[]));
  while (shown.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const start = shown[0]!;
  const send = (text: string) =>
    live.mutate(
      "messages:send",
      { text },
      {
        optimistic: (store) => {
          const list = store.get("messages:list", {}) as string[];
          store.set("messages:list", {}, [...list, `~ ${text}`]);
        },
      },
    );
  const sending = send("soon");
  assert.deepEqual(shown.at(-1), [...start, "~ soon"]);
  await sending;
  while (shown.at(-1)!.at(-1) !== "> soon") await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(send(""));
  assert.deepEqual(shown.slice(-2), [
    [...start, "> soon", "~ "],
    [...start, "> soon"],
  ]);
  live.close();
});

test("dev deploys at every change and tells what is wrong", async () => {
  const child = startCommand(["live", "dev", folder, "--namespace", "dev"], env);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const until = async (wanted: RegExp) => {
    for (;;) {
      const { value, done } = await lines.next();
      assert.ok(!done, `ended before ${wanted}`);
      if (wanted.test(value as string)) return;
    }
  };
  await until(/version 1/);
  await writeFile(join(folder, "more.ts"), "export const x = ;");
  await until(/more\.ts:1:/);
  await writeFile(join(folder, "more.ts"), messages.replace("./lib", "./lib"));
  await until(/add query more:list/);
  child.kill("SIGINT");
  await once(child, "exit");
  await rm(join(folder, "more.ts"));
});
