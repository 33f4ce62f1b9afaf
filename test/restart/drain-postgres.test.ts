import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { errorFields, query, RawPostgres } from "../wire/postgres/raw-client.ts";

test("when the server stops, idle sessions are told 57P01 and statements under way are answered", async () => {
  await using stopping = await ServerProcess.start();
  await ask(`${stopping.url}/v1/namespaces`, { body: { name: "shop" } });
  const idle = await RawPostgres.signedIn(stopping.postgres, "shop");
  const busy = await RawPostgres.signedIn(stopping.postgres, "shop");
  busy.send(query("select count(*) from range(30000000) a where a.range % 7 = 3"));
  const stopped = stopping.stop();
  await idle.closed();
  assert.equal(errorFields(idle.heard[0]!)["C"], "57P01");
  const heard = await busy.until("Z");
  assert.ok(heard.some(({ type }) => type === "D"));
  await busy.closed();
  assert.equal(errorFields(busy.heard[0]!)["C"], "57P01");
  assert.equal(await stopped, 0);
});
