// A cluster to try things on: three Kafka brokers, which Maven brings, and three nodes. Everything is in a temporary folder and goes
// with Ctrl-C.
//
//   npm run cluster
import { once } from "node:events";
import { NodeCluster } from "../test/support/cluster.ts";
import { KafkaCluster } from "../test/support/kafka.ts";

process.stdout.write("starting three brokers of Kafka, which takes a minute\n");
await using kafka = await KafkaCluster.start();
process.stdout.write(`brokers: ${kafka.brokers.join(",")}\n`);
await using nodes = await NodeCluster.start(kafka, "demo");
for (const [i, node] of nodes.nodes.entries()) {
  const { pid } = node!.child;
  const { postgres, mysql } = node!;
  process.stdout.write(
    `n${i}: ${nodes.urlOf(i)}, process ${pid}, Postgres on ${postgres.port}, MySQL on ${mysql.port}\n`,
  );
}
process.stdout.write(`owner: n${await nodes.owner()}. Ctrl-C ends everything.\n`);
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
