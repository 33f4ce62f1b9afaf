import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { selfSigned } from "../listener/certificate.ts";
import { ask } from "../support/http.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";

const skip = (await hasJava()) ? false : "needs java and mvn";
const [username, password] = ["engine", "s3cret-of-the-log"];
let kafka: KafkaCluster;
let folder: string;
let caFile: string;

before(async () => {
  if (skip !== false) return;
  const { cert, key } = selfSigned("broker");
  folder = await temporaryFolder();
  caFile = join(folder, "ca.pem");
  await writeFile(caFile, cert);
  kafka = await KafkaCluster.start(1, { cert, key, username, password });
});
after(() => kafka?.[Symbol.asyncDispose]());

function settings(mechanism: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    SERVICE_CLUSTER_LOG: `kafka://${kafka.brokers[0]}/secure-${mechanism}?tls=true&sasl=${mechanism}&replication=any`,
    SERVICE_CLUSTER_LOG_CA_FILE: caFile,
    SERVICE_CLUSTER_LOG_USERNAME: username,
    SERVICE_CLUSTER_LOG_PASSWORD: password,
    SERVICE_CLUSTER_OBJECTS: `file://${join(folder, "objects")}`,
    SERVICE_NODE_ID: mechanism,
    ...more,
  };
}

for (const mechanism of ["plain", "scram-sha-256", "scram-sha-512"]) {
  test(`a node whose log asks for TLS and ${mechanism}`, { skip }, async () => {
    const env = settings(mechanism);
    const { code, stderr } = await runCommand(["cluster", "init", "--replicas", "1"], env);
    assert.equal(code, 0, stderr);
    await using node = await ServerProcess.start({ dataDir: join(folder, mechanism), env });
    for (let status = 0; status !== 200; ) {
      ({ status } = await ask(`${node.url}/ready`));
      if (status !== 200) await sleep(100);
    }
    const { status, text } = await ask(`${node.url}/v1/namespaces`, { body: { name: "shop" } });
    assert.equal(status, 201, text);
    assert.ok(!node.logs.join("\n").includes(password), "the log holds no password");
  });
}

const wrong: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["a wrong password", { SERVICE_CLUSTER_LOG_PASSWORD: "not-the-one" }],
  ["a certificate that nobody trusts", { SERVICE_CLUSTER_LOG_CA_FILE: "" }],
];
for (const [what, more] of wrong) {
  test(`${what} is told, without the password`, { skip }, async () => {
    const { code, stderr } = await runCommand(["cluster", "init", "--replicas", "1"], settings("plain", more));
    assert.notEqual(code, 0);
    assert.match(stderr, /could not be created: .*(authentication|certificate)/is);
    assert.ok(!stderr.includes(password) && !stderr.includes("not-the-one"));
  });
}
