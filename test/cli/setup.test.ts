import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, ServerProcess } from "../support/process.ts";
import { post } from "../wire/rpc/clients.ts";

const whoAmI = "/service.instance.v1.InstanceService/WhoAmI";

test("two setups at once: one wins, and both are told the truth", async () => {
  await using fresh = await ServerProcess.start();
  const setUp = (org: string) =>
    runCommand(["setup", "--data-dir", fresh.dataDir, "--org", org, "--owner", "a@example.com"]);
  const results = await Promise.all(["One", "Two", "Three"].map(setUp));
  assert.deepEqual(results.map(({ code }) => code).sort(), [0, 1, 1]);
  const { json } = await post(fresh.url + whoAmI, "{}");
  const won = ["One", "Two", "Three"][results.findIndex(({ code }) => code === 0)];
  assert.equal((json as { org: { name: string } }).org.name, won);
});
