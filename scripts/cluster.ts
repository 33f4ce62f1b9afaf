// A cluster to try things on: three Kafka brokers, which Maven brings, an S3 server, which Go brings where it is there, and three
// nodes. Everything is in a temporary folder and goes with Ctrl-C.
//
//   npm run cluster
import { once } from "node:events";
import { NodeCluster } from "../test/support/cluster.ts";
import { KafkaCluster } from "../test/support/kafka.ts";
import { hasGo, S3Server } from "../test/support/s3.ts";

process.stdout.write("starting three brokers of Kafka, which takes a minute\n");
await using kafka = await KafkaCluster.start();
process.stdout.write(`brokers: ${kafka.brokers.join(",")}\n`);
const isBucket = await hasGo();
process.stdout.write(
  isBucket
    ? "starting an S3 server; the first time it is compiled, for minutes\n"
    : "without go, objects are in a folder\n",
);
await using bucket = isBucket ? await S3Server.start() : undefined;
if (bucket !== undefined)
  process.stdout.write(`objects: s3://${bucket.address.bucket}/demo at ${bucket.address.endpoint}\n`);
await using nodes = await NodeCluster.start(kafka, "demo", { env: bucket?.env("demo") ?? {} });
for (const [i, node] of nodes.nodes.entries()) {
  const { pid } = node!.child;
  const { postgres, mysql } = node!;
  process.stdout.write(
    `n${i}: ${nodes.urlOf(i)}, process ${pid}, Postgres on ${postgres.port}, MySQL on ${mysql.port}\n`,
  );
}
const owner = await nodes.owner();
const { pid } = nodes.nodes[owner]!.child;
process.stdout.write(
  `owner: n${owner}. Ctrl-C ends everything. For docs/cluster.md, in another terminal:\n\n` +
    `  export SERVICE_URL=${nodes.urlOf((owner + 1) % 3)} OWNER=${nodes.urlOf(owner)} OWNER_PID=${pid}\n`,
);
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
